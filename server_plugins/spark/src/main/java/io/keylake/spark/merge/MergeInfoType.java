package io.keylake.spark.merge;

import io.keylake.tables.spec.KeyedSchema;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.spark.sql.types.StructType;

/** The struct of versions as Spark sees it. */
public final class MergeInfoType {
  private MergeInfoType() {}

  public static StructType of(KeyedSchema schema) {
    return (StructType) SparkSchemaUtil.convert(schema.mergeInfo().type());
  }
}
