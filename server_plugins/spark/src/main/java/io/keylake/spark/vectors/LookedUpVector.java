package io.keylake.spark.vectors;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** A column that copies nothing: each of its values lies in some row of some other column. */
abstract class LookedUpVector extends ReadOnlyVector {
  private final LookedUpVector[] children;

  LookedUpVector(DataType type) {
    super(type);
    children = new LookedUpVector[type instanceof StructType struct ? struct.length() : 0];
  }

  /** A member of a struct, looked up where the struct is. */
  abstract LookedUpVector child(DataType childType, int ordinal);

  @Override
  public final ColumnVector getChild(int ordinal) {
    if (children[ordinal] == null) {
      children[ordinal] = child(((StructType) type).fields()[ordinal].dataType(), ordinal);
    }
    return children[ordinal];
  }

  /** The column in which the value of a row lies. */
  abstract ColumnVector source(int row);

  /** The row of that column. */
  abstract int sourceRow(int row);

  @Override
  public boolean getBoolean(int row) {
    return source(row).getBoolean(sourceRow(row));
  }

  @Override
  public byte getByte(int row) {
    return source(row).getByte(sourceRow(row));
  }

  @Override
  public short getShort(int row) {
    return source(row).getShort(sourceRow(row));
  }

  @Override
  public int getInt(int row) {
    return source(row).getInt(sourceRow(row));
  }

  @Override
  public long getLong(int row) {
    return source(row).getLong(sourceRow(row));
  }

  @Override
  public float getFloat(int row) {
    return source(row).getFloat(sourceRow(row));
  }

  @Override
  public double getDouble(int row) {
    return source(row).getDouble(sourceRow(row));
  }

  @Override
  public ColumnarArray getArray(int row) {
    return source(row).getArray(sourceRow(row));
  }

  @Override
  public ColumnarMap getMap(int row) {
    return source(row).getMap(sourceRow(row));
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    return source(row).getDecimal(sourceRow(row), precision, scale);
  }

  @Override
  public @Nullable UTF8String getUTF8String(int row) {
    return source(row).getUTF8String(sourceRow(row));
  }

  @Override
  public byte[] getBinary(int row) {
    return source(row).getBinary(sourceRow(row));
  }
}
