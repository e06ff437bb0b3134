package io.keylake.spark.check;

import io.keylake.tables.StoreFailure;
import io.keylake.tables.check.Finding;
import io.keylake.tables.check.NeededFile;
import io.keylake.tables.check.TableFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.SparkContext;
import org.jspecify.annotations.Nullable;

/**
 * Copies of damaged files, in a folder that has them as the table's folder does, or side by side.
 * The names of files are unique, so that one of the same name and length whose checks pass, also of
 * all pages, is the same file.
 */
public final class Copies {
  private Copies() {}

  /** The places of copies, by the paths of the damaged files. */
  public static Map<String, String> of(SparkContext spark, TableCheck checked, String folder) {
    TableFiles files = checked.files();
    Table table = files.table();
    Map<String, String> places = new HashMap<>();
    List<NeededFile> copied = new ArrayList<>();
    for (String path : paths(checked.findings())) {
      String place = place(table, path, folder, files.bytes(path));
      if (place != null) {
        places.put(path, place);
        NeededFile file = files.file(path);
        if (file != null) {
          copied.add(file.at(place));
        }
      }
    }
    Set<String> damaged = paths(TableCheck.check(spark, table, copied, Level.PAGES));
    places.values().removeIf(damaged::contains);
    return places;
  }

  private static Set<String> paths(Collection<Finding> findings) {
    Set<String> paths = new HashSet<>();
    findings.forEach(finding -> paths.add(finding.path()));
    return paths;
  }

  private static @Nullable String place(Table table, String path, String folder, long bytes) {
    for (String place : places(table.location(), path, folder)) {
      if (table.io().newInputFile(place).exists()
          && (bytes < 0 || Finding.ofLength(table.io(), place, bytes) == null)) {
        return place;
      }
    }
    return null;
  }

  /** The places where a folder may have a copy of a file of the table at a location. */
  static List<String> places(String location, String path, String folder) {
    String root = folder.endsWith("/") ? folder.substring(0, folder.length() - 1) : folder;
    List<String> places = new ArrayList<>();
    if (path.startsWith(location + "/")) {
      places.add(root + path.substring(location.length()));
    }
    places.add(root + path.substring(path.lastIndexOf('/')));
    return places;
  }

  /** Writes a copy over a damaged file. */
  public static void putBack(FileIO io, String copy, String path) {
    try (InputStream from = io.newInputFile(copy).newStream();
        OutputStream to = io.newOutputFile(path).createOrOverwrite()) {
      from.transferTo(to);
    } catch (IOException | RuntimeException e) {
      throw StoreFailure.writing(path, e);
    }
  }
}
