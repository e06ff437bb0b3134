package io.keylake.tables;

import java.util.regex.Pattern;

/**
 * The names that Iceberg and keylake give to the files of a table. Each has a UUID in it, so that
 * no two files share a name, wherever they lie.
 */
public final class FileNames {
  private static final String UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

  /** The names of files with rows, and of what says which rows are left out, up to their ends. */
  private static final String NUMBERED =
      "(?:[01]{8}-)?\\d{5,}-\\d+-(?:[a-z]+(?:_m?\\d+|_x)*-)*" + UUID + "-\\d{5,}";

  /** The names of data files; those of Iceberg for Spark have one part more. */
  private static final Pattern DATA = Pattern.compile(NUMBERED + "\\.parquet");

  /**
   * The names of data files, position deletes and deletion vectors; with hashed folders, bits may
   * lead.
   */
  private static final Pattern CONTENT =
      Pattern.compile(NUMBERED + "(?:-deletes)?\\.(?:parquet|puffin)");

  private static final Pattern TABLE_METADATA =
      Pattern.compile("\\d{5,}-" + UUID + "(?:\\.gz)?\\.metadata\\.json(?:\\.gz)?");

  /** The names of manifests and of the lists of a snapshot's manifests. */
  private static final Pattern MANIFEST =
      Pattern.compile("(?:snap-\\d+-\\d+-" + UUID + "|" + UUID + "-m\\d+)\\.avro");

  private static final Pattern ANY_TABLE_METADATA =
      Pattern.compile(".*\\.metadata\\.json(?:\\.gz)?", Pattern.DOTALL);

  private FileNames() {}

  /** A writer of keylake gives such names to data files. */
  public static boolean isData(String name) {
    return DATA.matcher(name).matches();
  }

  public static boolean isContent(String name) {
    return CONTENT.matcher(name).matches();
  }

  public static boolean isTableMetadata(String name) {
    return TABLE_METADATA.matcher(name).matches();
  }

  public static boolean isManifest(String name) {
    return MANIFEST.matcher(name).matches();
  }

  /** A file in a folder {@code metadata} describes a table, of any catalog. */
  public static boolean isAnyTableMetadata(String name) {
    return ANY_TABLE_METADATA.matcher(name).matches();
  }

  public static String of(String location) {
    return location.substring(location.lastIndexOf('/') + 1);
  }
}
