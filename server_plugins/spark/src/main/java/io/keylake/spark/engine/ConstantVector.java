package io.keylake.spark.engine;

import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Columns with one value in all rows. */
public final class ConstantVector {
  private ConstantVector() {}

  public static ColumnVector of(int value, int rows) {
    ConstantColumnVector vector = new ConstantColumnVector(rows, DataTypes.IntegerType);
    vector.setInt(value);
    return vector;
  }

  public static ColumnVector of(boolean value, int rows) {
    ConstantColumnVector vector = new ConstantColumnVector(rows, DataTypes.BooleanType);
    vector.setBoolean(value);
    return vector;
  }

  /** A column of any type that has no value. */
  public static ColumnVector ofNulls(DataType type, int rows) {
    ConstantColumnVector vector = new ConstantColumnVector(rows, type);
    vector.setNull();
    return vector;
  }
}
