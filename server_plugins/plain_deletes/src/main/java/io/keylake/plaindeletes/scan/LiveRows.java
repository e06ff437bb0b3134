package io.keylake.plaindeletes.scan;

import java.io.IOException;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import scala.collection.immutable.ArraySeq;

/** Rows that are not deleted. */
final class LiveRows implements PartitionReader<InternalRow> {
  private final PartitionReader<InternalRow> stored;
  private final ReadColumns columns;
  private final TaskDeletes deletes;
  private final ProjectingInternalRow shown;

  LiveRows(PartitionReader<InternalRow> stored, ReadColumns columns, TaskDeletes deletes) {
    this.stored = stored;
    this.columns = columns;
    this.deletes = deletes;
    Object[] kept = IntStream.of(columns.kept()).boxed().toArray();
    shown = ProjectingInternalRow.apply(columns.shown(), ArraySeq.unsafeWrapArray(kept));
  }

  @Override
  public boolean next() throws IOException {
    while (stored.next()) {
      InternalRow row = stored.get();
      deletes.enter(row.getUTF8String(columns.file()));
      if (!deletes.apply() || !deletes.has(row)) {
        return true;
      }
    }
    deletes.finish();
    return false;
  }

  @Override
  public InternalRow get() {
    shown.project(stored.get());
    return shown;
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
