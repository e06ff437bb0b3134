package io.keylake.spark.write;

import static io.keylake.tables.KeylakeException.Kind.VERSION_MISSING;

import io.keylake.spark.write.WriteLayout.Column;
import io.keylake.tables.KeylakeException;
import org.apache.spark.sql.catalyst.InternalRow;

/** The version of a row: from its column, or the same for every row of the write. */
final class RowVersions {
  private final WriteLayout layout;
  private final long fixed;
  private final boolean onlyOfColumns;

  /**
   * @param fixed the version of every row, or null: a column holds it
   */
  RowVersions(WriteLayout layout, Long fixed) {
    this.layout = layout;
    this.fixed = fixed == null ? 0 : fixed;
    this.onlyOfColumns = fixed == null && layout.version() == null;
  }

  long of(InternalRow row) {
    if (layout.version() != null) {
      return read(row, layout.version(), null);
    }
    return onlyOfColumns ? newestOfColumns(row) : fixed;
  }

  /** Where only columns have versions, the row is as new as the newest of them. */
  private long newestOfColumns(InternalRow row) {
    long newest = Long.MIN_VALUE;
    for (Column column : layout.values()) {
      if (column.versionedBy() != null && !row.isNullAt(column.versionedBy().position())) {
        newest = Math.max(newest, read(row, column.versionedBy(), column));
      }
    }
    return newest;
  }

  /**
   * @param of the column it versions, or null for the row
   */
  static long read(InternalRow row, Column source, Column of) {
    if (row.isNullAt(source.position())) {
      String what =
          of == null ? "the version of a row" : "the version of column '" + of.field().name() + "'";
      throw new KeylakeException(VERSION_MISSING, what + " is null; every written row needs one");
    }
    return WriteLayout.isInt(source.type())
        ? row.getInt(source.position())
        : row.getLong(source.position());
  }
}
