package io.keylake.spark.keys;

import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.DataType;

/** The types of a table's columns as Spark sees them. */
public final class ColumnTypes {
  private ColumnTypes() {}

  public static DataType spark(NestedField field) {
    return SparkSchemaUtil.convert(field.type());
  }

  /** A type by the name it has in a table's definition. */
  public static String word(DataType type) {
    try {
      return SparkSchemaUtil.convert(type).toString();
    } catch (UnsupportedOperationException e) {
      return type.simpleString(); // one that tables do not have
    }
  }
}
