package io.keylake.spark.read.merge;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * Some sections of a bucket merged into rows as the table stores them, versions and tombstones and
 * all: what compaction writes again.
 */
public final class CompactionRows implements Closeable {

  private final BucketRows rows;

  /**
   * @param plan planned for history: its merge keeps what later merges need
   */
  public CompactionRows(FileIO io, KeyedSchema schema, BucketPlan plan) {
    StructType stored = type(schema);
    List<OutputColumn> output = new ArrayList<>();
    for (StructField field : stored.fields()) {
      NestedField column = schema.table().asStruct().field(field.name());
      output.add(
          field.name().equals(KeyedSchema.MERGE_INFO)
              ? new OutputColumn(OutputColumn.Source.STORED_MERGE_INFO, -1, field.dataType(), false)
              : OutputColumn.of(schema, column, field.dataType()));
    }
    this.rows =
        new BucketRows(
            ReadTask.unfiltered(schema, output),
            plan.partition(),
            plan.sections(),
            new DataFiles(io, new ReadCounters()));
  }

  /** The stored columns as Spark sees them. */
  public static StructType type(KeyedSchema schema) {
    return SparkSchemaUtil.convert(schema.table());
  }

  /** The next rows in key order, valid until the next call; null at the end. */
  public @Nullable ColumnarBatch next() throws IOException {
    return rows.next();
  }

  @Override
  public void close() throws IOException {
    rows.close();
  }
}
