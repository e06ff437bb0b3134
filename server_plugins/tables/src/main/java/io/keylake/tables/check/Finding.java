package io.keylake.tables.check;

import io.keylake.tables.FileDamage;
import io.keylake.tables.StoreFailure;
import java.io.Serializable;
import java.util.Locale;
import org.apache.iceberg.io.FileIO;
import org.jspecify.annotations.Nullable;

/**
 * A file that is not as the table says, or a part of it.
 *
 * @param column null where the finding concerns the whole file
 * @param rowGroup null where the finding concerns all row groups
 * @param page of the column in its row group; null where that is not known
 * @param detail how the damage shows, as a part of a sentence
 */
public record Finding(
    Kind kind,
    String path,
    @Nullable String column,
    @Nullable Integer rowGroup,
    @Nullable Integer page,
    String detail)
    implements Serializable {
  /** The kinds of damage. */
  public enum Kind {
    MISSING,
    TRUNCATED,
    WRONG_SIZE,
    CHECKSUM,
    FOOTER,
    COUNTS,
    COLUMNS,
    ORDER,
    BUCKET,
    BOUNDS,
    OTHER_FILE,
    UNREADABLE;

    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** A finding about a file as a whole. */
  public static Finding of(Kind kind, String path, String detail) {
    return new Finding(kind, path, null, null, null, detail);
  }

  /**
   * The finding of a file that could not be read. A store that refuses or does not answer says
   * nothing about the file, so that its failure ends the check.
   *
   * @param kind of the finding where the file is there
   */
  public static Finding unread(FileIO io, Kind kind, String path, Exception failure) {
    if (StoreFailure.isAnswered(failure)) {
      throw StoreFailure.reading(path, failure);
    }
    if (!isThere(io, path)) {
      return of(Kind.MISSING, path, "it is not there");
    }
    String detail = String.valueOf(FileDamage.of("it", failure).getMessage());
    return of(
        detail.toLowerCase(Locale.ROOT).contains("checksum") ? Kind.CHECKSUM : kind, path, detail);
  }

  /**
   * The finding of a file whose length is not the one that the table says; null for none.
   *
   * @param bytes of the file, as the table says
   */
  public static @Nullable Finding ofLength(FileIO io, String path, long bytes) {
    long found;
    try {
      found = io.newInputFile(path).getLength();
    } catch (RuntimeException e) {
      return unread(io, Kind.UNREADABLE, path, e);
    }
    if (found == bytes) {
      return null;
    }
    return of(
        found < bytes ? Kind.TRUNCATED : Kind.WRONG_SIZE,
        path,
        "it has %d bytes, and the table says %d".formatted(found, bytes));
  }

  private static boolean isThere(FileIO io, String path) {
    try {
      return io.newInputFile(path).exists();
    } catch (RuntimeException e) {
      throw StoreFailure.reading(path, e);
    }
  }
}
