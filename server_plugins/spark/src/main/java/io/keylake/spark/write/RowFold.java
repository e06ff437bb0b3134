package io.keylake.spark.write;

import io.keylake.spark.write.WriteLayout.Column;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Reduces the rows of one key of one write to the one that is stored, by the merge law. Rows come
 * in (version, row) order, so a later row wins at equal versions; columns with versions of their
 * own are compared one by one.
 */
final class RowFold {
  private final RowVersions versions;
  private final Column[] values;
  private final InternalRow[] winners;
  private final long[] at;
  private InternalRow keyRow;
  private boolean isWritten;
  private long writtenAt;
  private boolean isDeleted;
  private long deletedAt;

  RowFold(WriteLayout layout, RowVersions versions) {
    this.versions = versions;
    this.values = layout.values().toArray(Column[]::new);
    this.winners = new InternalRow[values.length];
    this.at = new long[values.length];
  }

  void start() {
    Arrays.fill(winners, null);
    keyRow = null;
    isWritten = false;
    isDeleted = false;
  }

  /**
   * @param carried which value columns the row carries; null for all
   */
  void write(InternalRow row, long version, boolean[] carried) {
    keyRow = row;
    long newest = version;
    for (int i = 0; i < values.length; i++) {
      Column column = values[i];
      if ((carried != null && !carried[i])
          || (column.skipsNulls() && row.isNullAt(column.position()))) {
        continue;
      }
      long own = column.versionedBy() == null ? version : versions.read(row, column.versionedBy());
      newest = Math.max(newest, own);
      boolean removed = isDeleted && own < deletedAt;
      if (!removed && (winners[i] == null || own >= at[i])) {
        winners[i] = row;
        at[i] = own;
      }
    }
    if (!isDeleted || newest >= deletedAt) {
      writtenAt = isWritten ? Math.max(writtenAt, newest) : newest;
      isWritten = true;
    }
  }

  void delete(InternalRow row, long version) {
    keyRow = row;
    for (int i = 0; i < values.length; i++) {
      if (winners[i] != null && at[i] <= version) {
        winners[i] = null;
      }
    }
    isWritten = isWritten && writtenAt > version;
    deletedAt = isDeleted ? Math.max(deletedAt, version) : version;
    isDeleted = true;
  }

  /** Whether a row still holds the key or the winning value of a column. */
  boolean holds(InternalRow row) {
    if (row == keyRow) {
      return true;
    }
    for (InternalRow winner : winners) {
      if (winner == row) {
        return true;
      }
    }
    return false;
  }

  InternalRow keyRow() {
    return keyRow;
  }

  boolean isWritten() {
    return isWritten;
  }

  long writtenAt() {
    return writtenAt;
  }

  boolean isDeleted() {
    return isDeleted;
  }

  long deletedAt() {
    return deletedAt;
  }

  /** The row that holds the value of a column, or null where it is absent. */
  InternalRow winner(int value) {
    return winners[value];
  }

  long at(int value) {
    return at[value];
  }

  /** The newest version of all that is stored. */
  long version() {
    if (!isDeleted) {
      return writtenAt;
    }
    return isWritten ? Math.max(writtenAt, deletedAt) : deletedAt;
  }
}
