package io.keylake.spark.compaction;

import io.keylake.spark.read.StoredRows;
import io.keylake.spark.write.SortedFiles;
import io.keylake.tables.BucketPlan;
import io.keylake.tables.KeyedSchema;
import java.io.IOException;
import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * What one task does: streams the merged rows of some stretches of a bucket into sorted files.
 * Nothing is sorted again, and memory holds a batch of each run and the row group that is written.
 *
 * @param operation the common part of the new files' names
 */
record CompactionWork(
    KeyedSchema schema,
    List<BucketPlan> stretches,
    StructLike tuple,
    String operation,
    long targetFileBytes)
    implements Serializable {

  /** Runs a work where a task is; a class of its own, so that nothing else travels with it. */
  record Runner(Broadcast<Table> table) implements Function<CompactionWork, DataFile[]> {
    @Override
    public DataFile[] call(CompactionWork work) throws IOException {
      return work.run(table.value());
    }
  }

  private DataFile[] run(Table table) throws IOException {
    TaskContext task = TaskContext.get();
    OutputFileFactory places =
        OutputFileFactory.builderFor(table, task.partitionId(), task.taskAttemptId())
            .format(FileFormat.PARQUET)
            .operationId(operation)
            .build();
    SortedFiles files = new SortedFiles(table, schema, schema.table(), places, targetFileBytes);
    try {
      for (BucketPlan stretch : stretches) {
        write(table, stretch, files, task);
        files.finishFile();
      }
      return files.finish();
    } catch (IOException | RuntimeException e) {
      files.abort();
      throw e;
    }
  }

  private void write(Table table, BucketPlan stretch, SortedFiles files, TaskContext task)
      throws IOException {
    StructField[] types = StoredRows.type(schema).fields();
    Object[] values = new Object[types.length];
    GenericInternalRow row = new GenericInternalRow(values);
    try (StoredRows rows = new StoredRows(table.io(), schema, stretch)) {
      for (ColumnarBatch batch = rows.next(); batch != null; batch = rows.next()) {
        if (task.isInterrupted()) {
          throw new IOException("the compaction was cancelled");
        }
        for (Iterator<InternalRow> each = batch.rowIterator(); each.hasNext(); ) {
          fill(values, each.next(), types);
          files.write(tuple, row);
        }
      }
    }
  }

  /** The row of a batch gives any value for a null, and the writer asks for values only. */
  private static void fill(Object[] values, InternalRow row, StructField[] types) {
    for (int i = 0; i < values.length; i++) {
      values[i] = row.isNullAt(i) ? null : row.get(i, types[i].dataType());
    }
  }
}
