package io.keylake.spark.read.scan;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.spark.read.merge.BucketRows;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.ReadTotal;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.planning.BucketPlan;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * A scan of one key that the driver can do itself, because it opens few pages of few files: a job
 * would take longer to start.
 */
public final class Lookup {
  private static final long MOST_BYTES_BY_DEFAULT = 16L << 20;
  private static final int MOST_FILES = 64;

  private final String description;
  private final ReadTask task;
  private final List<BucketPlan> buckets;
  private final FileIO io;

  Lookup(String description, ReadTask task, List<BucketPlan> buckets, FileIO io) {
    this.description = description;
    this.task = task;
    this.buckets = buckets;
    this.io = io;
  }

  /** The look-up that a scan is; null for one that is left to tasks. */
  public static @Nullable Lookup of(Scan scan) {
    return scan instanceof KeyedScan keyed
        ? keyed.lookup(
            MOST_FILES, SessionSettings.bytes(SessionSettings.DRIVER_BYTES, MOST_BYTES_BY_DEFAULT))
        : null;
  }

  /**
   * Reads the files.
   *
   * @param wanted tells which rows of the key are wanted, among others that are read along
   * @param shown makes what is given of a row that is wanted
   */
  public List<InternalRow> read(Predicate<InternalRow> wanted, UnaryOperator<InternalRow> shown) {
    ReadCounters counters = new ReadCounters();
    DataFiles files = new DataFiles(io, counters);
    List<InternalRow> rows = new ArrayList<>();
    for (BucketPlan bucket : buckets) {
      try (BucketRows merged = new BucketRows(task, bucket.partition(), bucket.sections(), files)) {
        for (ColumnarBatch batch = merged.next(); batch != null; batch = merged.next()) {
          counters.rowsOut += batch.numRows();
          for (Iterator<InternalRow> each = batch.rowIterator(); each.hasNext(); ) {
            InternalRow row = each.next();
            if (wanted.test(row)) {
              rows.add(shown.apply(row.copy()));
            }
          }
        }
      } catch (IOException e) {
        throw StoreFailure.reading(description, e);
      }
    }
    counters.addToTotals();
    ReadTotal.LOOKUPS.add(1);
    return rows;
  }

  @Override
  public String toString() {
    return description;
  }
}
