package io.keylake.spark.write.tasks;

import io.keylake.spark.write.tasks.KeyedDataWriter.Written;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The writer of rows some of which are late: these go to files of their own. Rows of a key come by
 * version, so its late ones come first. Where all rows say the same columns, they are forgotten
 * when a timely one comes; otherwise both kinds are folded by themselves.
 *
 * @param limit the version below which a row is late
 * @param areAlike whether a row says all that older rows of its key say
 */
record LateRows(
    RowVersions versions,
    long limit,
    boolean areAlike,
    KeyedDataWriter timely,
    KeyedDataWriter late)
    implements TaskWriter {

  @Override
  public void write(InternalRow row) throws IOException {
    if (versions.of(row) < limit) {
      late.write(row);
    } else {
      if (areAlike) {
        late.forget(row);
      }
      timely.write(row);
    }
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
