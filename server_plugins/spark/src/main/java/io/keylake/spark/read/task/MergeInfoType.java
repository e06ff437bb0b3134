package io.keylake.spark.read.task;

import io.keylake.tables.spec.KeyedSchema;
import java.util.Arrays;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The struct of versions as Spark sees it. */
public final class MergeInfoType {
  private MergeInfoType() {}

  /**
   * The type as queries see it: without the versions of columns where there are none, and without
   * states, which only merges can read.
   */
  public static StructType of(KeyedSchema schema) {
    return new StructType(
        Arrays.stream(stored(schema).fields())
            .filter(field -> !field.name().equals(KeyedSchema.STATES))
            .toArray(StructField[]::new));
  }

  /** The type as files have it. */
  public static StructType stored(KeyedSchema schema) {
    StructType all = (StructType) SparkSchemaUtil.convert(schema.mergeInfo().type());
    return schema.leaves().fields().isEmpty()
        ? new StructType(
            Arrays.stream(all.fields())
                .filter(field -> !field.name().equals(KeyedSchema.COLUMNS))
                .toArray(StructField[]::new))
        : all;
  }
}
