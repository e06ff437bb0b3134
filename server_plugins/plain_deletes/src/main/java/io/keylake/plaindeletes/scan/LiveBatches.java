package io.keylake.plaindeletes.scan;

import io.keylake.spark.vectors.TakenVector;
import java.io.IOException;
import java.util.stream.IntStream;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Batches without the rows that are deleted. All rows of a batch are of one data file. */
final class LiveBatches implements PartitionReader<ColumnarBatch> {
  private final PartitionReader<ColumnarBatch> stored;
  private final ReadColumns columns;
  private final TaskDeletes deletes;
  private ColumnarBatch live = new ColumnarBatch(new ColumnVector[0]);

  LiveBatches(PartitionReader<ColumnarBatch> stored, ReadColumns columns, TaskDeletes deletes) {
    this.stored = stored;
    this.columns = columns;
    this.deletes = deletes;
  }

  @Override
  public boolean next() throws IOException {
    while (stored.next()) {
      ColumnarBatch batch = stored.get();
      if (batch.numRows() > 0) {
        live = live(batch);
        if (live.numRows() > 0) {
          return true;
        }
      }
    }
    deletes.finish();
    return false;
  }

  private ColumnarBatch live(ColumnarBatch batch) {
    deletes.enter(batch.column(columns.file()).getUTF8String(0));
    ColumnVector[] all =
        IntStream.of(columns.kept()).mapToObj(batch::column).toArray(ColumnVector[]::new);
    if (!deletes.apply()) {
      return new ColumnarBatch(all, batch.numRows());
    }
    int[] rows = new int[batch.numRows()];
    int count = 0;
    for (int row = 0; row < batch.numRows(); row++) {
      rows[count] = row;
      count += deletes.has(batch.getRow(row)) ? 0 : 1;
    }
    if (count < batch.numRows()) {
      for (int i = 0; i < all.length; i++) {
        all[i] = new TakenVector(all[i].dataType(), all[i], rows);
      }
    }
    return new ColumnarBatch(all, count);
  }

  @Override
  public ColumnarBatch get() {
    return live;
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return deletes.metrics(stored.currentMetricsValues());
  }

  @Override
  public void close() throws IOException {
    try (deletes) {
      stored.close();
    }
  }
}
