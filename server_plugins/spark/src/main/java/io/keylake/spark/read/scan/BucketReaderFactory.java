package io.keylake.spark.read.scan;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.spark.read.merge.BucketRows;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.ReadTotal;
import io.keylake.tables.planning.BucketPlan;
import java.io.IOException;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/** Reads buckets, columnar only. */
record BucketReaderFactory(ReadTask task, Broadcast<Table> table)
    implements PartitionReaderFactory {

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException("a merged read is columnar");
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    return new BucketReader(task, ((BucketPartition) partition).bucket(), table.value().io());
  }

  private static final class BucketReader implements PartitionReader<ColumnarBatch> {
    private final ReadCounters counters = new ReadCounters();
    private final BucketRows rows;
    private @Nullable ColumnarBatch batch;
    private boolean isCounted;

    BucketReader(ReadTask task, BucketPlan bucket, FileIO io) {
      DataFiles files = new DataFiles(io, counters);
      this.rows = new BucketRows(task, bucket.partition(), bucket.sections(), files);
    }

    @Override
    public boolean next() throws IOException {
      batch = rows.next();
      counters.rowsOut += batch == null ? 0 : batch.numRows();
      return batch != null;
    }

    @Override
    public @Nullable ColumnarBatch get() {
      return batch;
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      return ReadMetrics.of(counters);
    }

    @Override
    public void close() throws IOException {
      rows.close();
      if (!isCounted) {
        isCounted = true;
        counters.addToTotals();
        ReadTotal.TASKS.add(1);
      }
    }
  }
}
