package io.keylake.spark.write.tasks;

import io.keylake.spark.write.tasks.KeyedDataWriter.Written;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The writer of rows some of which are late: these go to files of their own. Two rows of one key of
 * which one is late have different versions, so that each can be folded with its kind.
 *
 * @param limit the version below which a row is late
 */
record LateRows(RowVersions versions, long limit, TaskWriter timely, TaskWriter late)
    implements TaskWriter {

  @Override
  public void write(InternalRow row) throws IOException {
    (versions.of(row) < limit ? late : timely).write(row);
  }

  @Override
  public Written commit() throws IOException {
    return timely.commit().and(late.commit());
  }

  @Override
  public void abort() throws IOException {
    try {
      timely.abort();
    } finally {
      late.abort();
    }
  }

  @Override
  public void close() throws IOException {
    try {
      timely.close();
    } finally {
      late.close();
    }
  }
}
