package io.keylake.spark.write.tasks;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.write.tasks.WriteLayout.Column;
import io.keylake.spark.write.tasks.WriteLayout.Helper;
import io.keylake.tables.KeylakeException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/** The version of a row: from its column, or the same for every row of the write. */
final class RowVersions {
  private final WriteLayout layout;
  private final long fixed;
  private final boolean onlyOfColumns;

  /**
   * @param fixed the version of every row, or null: a column holds it
   */
  RowVersions(WriteLayout layout, @Nullable Long fixed) {
    this.layout = layout;
    this.fixed = fixed == null ? 0 : fixed;
    this.onlyOfColumns = fixed == null && layout.version() == null;
  }

  long of(InternalRow row) {
    if (layout.version() != null) {
      return read(row, layout.version());
    }
    return onlyOfColumns ? newestOfColumns(row) : fixed;
  }

  /**
   * The version of a row of which only columns have versions: it is as new as the newest of them.
   */
  private long newestOfColumns(InternalRow row) {
    long newest = Long.MIN_VALUE;
    for (Column column : layout.values()) {
      if (column.versionedBy() != null && !row.isNullAt(column.versionedBy().position())) {
        newest =
            Math.max(
                newest, value(row, column.versionedBy().position(), column.versionedBy().type()));
      }
    }
    return newest;
  }

  long read(InternalRow row, Helper source) {
    if (row.isNullAt(source.position())) {
      throw new KeylakeException(
          BAD_ROWS,
          "the version column '%s' is null in the row with key %s; every written row needs a version"
              .formatted(source.name(), layout.keyOf(row)));
    }
    return value(row, source.position(), source.type());
  }

  /** A version that is known to be there. */
  static long value(InternalRow row, int position, DataType type) {
    return WriteLayout.isInt(type) ? row.getInt(position) : row.getLong(position);
  }
}
