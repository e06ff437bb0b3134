package io.keylake.spark.vectors;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * A column vector that owns no memory. What a subclass does not override, its type does not have.
 */
abstract class ReadOnlyVector extends ColumnVector {
  ReadOnlyVector(DataType type) {
    super(type);
  }

  private UnsupportedOperationException notOfThisType() {
    return new UnsupportedOperationException(
        "a vector of type " + type.simpleString() + " has no such values");
  }

  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    return true; // may have: that is all a reader needs to know
  }

  @Override
  public int numNulls() {
    return 1;
  }

  @Override
  public boolean getBoolean(int row) {
    throw notOfThisType();
  }

  @Override
  public byte getByte(int row) {
    throw notOfThisType();
  }

  @Override
  public short getShort(int row) {
    throw notOfThisType();
  }

  @Override
  public int getInt(int row) {
    throw notOfThisType();
  }

  @Override
  public long getLong(int row) {
    throw notOfThisType();
  }

  @Override
  public float getFloat(int row) {
    throw notOfThisType();
  }

  @Override
  public double getDouble(int row) {
    throw notOfThisType();
  }

  @Override
  public ColumnarArray getArray(int row) {
    throw notOfThisType();
  }

  @Override
  public ColumnarMap getMap(int row) {
    throw notOfThisType();
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    throw notOfThisType();
  }

  @Override
  public @Nullable UTF8String getUTF8String(int row) {
    throw notOfThisType();
  }

  @Override
  public byte[] getBinary(int row) {
    throw notOfThisType();
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    throw notOfThisType();
  }
}
