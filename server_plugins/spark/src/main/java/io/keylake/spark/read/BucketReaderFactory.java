package io.keylake.spark.read;

import io.keylake.tables.BucketPlan;
import io.keylake.tables.SectionPlan;
import java.io.IOException;
import java.util.Iterator;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ColumnarBatch;

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

  /** The sections of a bucket, one after the other: together they are in key order. */
  private static final class BucketReader implements PartitionReader<ColumnarBatch> {
    private final ReadTask task;
    private final BucketPlan bucket;
    private final ReadCounters counters = new ReadCounters();
    private final DataFiles files;
    private final Iterator<SectionPlan> sections;
    private SectionReader section;
    private ColumnarBatch batch;

    BucketReader(ReadTask task, BucketPlan bucket, FileIO io) {
      this.task = task;
      this.bucket = bucket;
      this.files = new DataFiles(io, counters);
      this.sections = bucket.sections().iterator();
    }

    @Override
    public boolean next() throws IOException {
      while (true) {
        if (section == null) {
          if (!sections.hasNext()) {
            return false;
          }
          section = SectionReader.open(task, sections.next(), bucket.partition(), files);
        }
        batch = section.next();
        if (batch != null) {
          counters.rowsOut += batch.numRows();
          return true;
        }
        section.close();
        section = null;
      }
    }

    @Override
    public ColumnarBatch get() {
      return batch;
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      return ReadMetrics.of(counters);
    }

    @Override
    public void close() throws IOException {
      if (section != null) {
        section.close();
      }
    }
  }
}
