package io.keylake.spark.keys;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A function of columns whose value is a whole number and never null: where a row lies. */
public interface IntFunction extends ScalarFunction<Integer> {
  @Override
  default DataType resultType() {
    return DataTypes.IntegerType;
  }

  @Override
  default boolean isResultNullable() {
    return false;
  }
}
