package io.keylake.spark.merge;

import io.keylake.tables.spec.KeyedSchema;
import java.util.Arrays;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The struct of versions as Spark sees it; without that of the columns where there are none. */
public final class MergeInfoType {
  private MergeInfoType() {}

  public static StructType of(KeyedSchema schema) {
    StructType all = (StructType) SparkSchemaUtil.convert(schema.mergeInfo().type());
    return schema.leaves().fields().isEmpty()
        ? new StructType(
            Arrays.stream(all.fields())
                .filter(field -> !field.name().equals(KeyedSchema.COLUMNS))
                .toArray(StructField[]::new))
        : all;
  }
}
