package io.keylake.spark.write.tasks;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.tables.KeylakeException;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.jspecify.annotations.Nullable;

/**
 * The writer of rows that may fail a condition of the write: each such row goes to files of its
 * own, or fails the write. Both kinds come in the order of the write, so that rows of a key are
 * folded among those of their kind.
 *
 * @param failure of each row
 * @param held writes rows that fail; null where they fail the write
 */
record CheckedRows(
    WriteLayout layout, Failure failure, TaskWriter passing, @Nullable TaskWriter held)
    implements DataWriter<InternalRow> {

  /** Says which condition a row does not satisfy. */
  @FunctionalInterface
  interface Failure {
    /** The text of the condition; null for a row that passes. */
    @Nullable String of(InternalRow row);

    /** The column that the preparation of the rows has added. */
    static Failure inColumn(int position) {
      return row -> row.isNullAt(position) ? null : row.getUTF8String(position).toString();
    }
  }

  @Override
  public void write(InternalRow row) throws IOException {
    String failed = failure.of(row);
    if (failed == null) {
      passing.write(row);
    } else if (held != null) {
      held.write(row);
    } else {
      throw new KeylakeException(
          BAD_ROWS,
          "the row with key %s does not satisfy the condition %s; mend it, or write with on_failure='quarantine', which holds such rows back"
              .formatted(layout.keyOf(row), failed));
    }
  }

  @Override
  public WriterCommitMessage commit() throws IOException {
    return held == null ? passing.commit() : passing.commit().holding(held.commit());
  }

  @Override
  public void abort() throws IOException {
    try {
      passing.abort();
    } finally {
      if (held != null) {
        held.abort();
      }
    }
  }

  @Override
  public void close() throws IOException {
    try {
      passing.close();
    } finally {
      if (held != null) {
        held.close();
      }
    }
  }
}
