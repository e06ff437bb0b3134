package io.keylake.spark.keys;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.ByteArray;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The order of keys that lie in column vectors: an 8-byte prefix from the first column, and the
 * whole comparison for keys with equal prefixes.
 */
public final class KeyOrder {
  private final Column[] columns;

  /** The comparison of one key column. */
  private interface Column {
    void prefixes(ColumnVector vector, int from, int to, long[] into);

    int compare(ColumnVector a, int rowA, ColumnVector b, int rowB);

    /** Equal prefixes mean equal values. */
    boolean isExact();
  }

  public KeyOrder(List<DataType> types) {
    columns = types.stream().map(KeyOrder::column).toArray(Column[]::new);
  }

  /** Values of a type can be part of a key. */
  public static boolean orders(DataType type) {
    return type instanceof BooleanType
        || type instanceof IntegerType
        || type instanceof LongType
        || type instanceof DateType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType
        || type instanceof DecimalType
        || type instanceof StringType
        || type instanceof BinaryType;
  }

  /** The prefix is the whole key. */
  public boolean isExact() {
    return columns.length == 1 && columns[0].isExact();
  }

  public void prefixes(ColumnVector first, int from, int to, long[] into) {
    columns[0].prefixes(first, from, to, into);
  }

  /** Compares keys whose prefixes are equal. */
  public int compareTied(ColumnVector[] a, int rowA, ColumnVector[] b, int rowB) {
    for (int i = columns[0].isExact() ? 1 : 0; i < columns.length; i++) {
      int order = columns[i].compare(a[i], rowA, b[i], rowB);
      if (order != 0) {
        return order;
      }
    }
    return 0;
  }

  private static Column column(DataType type) {
    if (type instanceof BooleanType) {
      return new Booleans();
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return new Ints();
    }
    if (type instanceof StringType) {
      return new Strings();
    }
    if (type instanceof BinaryType) {
      return new Bytes();
    }
    if (type instanceof DecimalType decimal) {
      return new Decimals(decimal);
    }
    return new Longs(); // long and the timestamps
  }

  private static final class Longs implements Column {
    @Override
    public void prefixes(ColumnVector vector, int from, int to, long[] into) {
      for (int row = from; row < to; row++) {
        into[row] = vector.getLong(row);
      }
    }

    @Override
    public int compare(ColumnVector a, int rowA, ColumnVector b, int rowB) {
      return Long.compare(a.getLong(rowA), b.getLong(rowB));
    }

    @Override
    public boolean isExact() {
      return true;
    }
  }

  private static final class Ints implements Column {
    @Override
    public void prefixes(ColumnVector vector, int from, int to, long[] into) {
      for (int row = from; row < to; row++) {
        into[row] = vector.getInt(row);
      }
    }

    @Override
    public int compare(ColumnVector a, int rowA, ColumnVector b, int rowB) {
      return Integer.compare(a.getInt(rowA), b.getInt(rowB));
    }

    @Override
    public boolean isExact() {
      return true;
    }
  }

  private static final class Booleans implements Column {
    @Override
    public void prefixes(ColumnVector vector, int from, int to, long[] into) {
      for (int row = from; row < to; row++) {
        into[row] = vector.getBoolean(row) ? 1 : 0;
      }
    }

    @Override
    public int compare(ColumnVector a, int rowA, ColumnVector b, int rowB) {
      return Boolean.compare(a.getBoolean(rowA), b.getBoolean(rowB));
    }

    @Override
    public boolean isExact() {
      return true;
    }
  }

  private static final class Strings implements Column {
    @Override
    public void prefixes(ColumnVector vector, int from, int to, long[] into) {
      for (int row = from; row < to; row++) {
        UTF8String text = vector.getUTF8String(row);
        into[row] = text.getPrefix() ^ Long.MIN_VALUE; // unsigned order as signed order
      }
    }

    @Override
    public int compare(ColumnVector a, int rowA, ColumnVector b, int rowB) {
      return a.getUTF8String(rowA).binaryCompare(b.getUTF8String(rowB));
    }

    @Override
    public boolean isExact() {
      return false;
    }
  }

  private static final class Bytes implements Column {
    @Override
    public void prefixes(ColumnVector vector, int from, int to, long[] into) {
      for (int row = from; row < to; row++) {
        into[row] = ByteArray.getPrefix(vector.getBinary(row)) ^ Long.MIN_VALUE;
      }
    }

    @Override
    public int compare(ColumnVector a, int rowA, ColumnVector b, int rowB) {
      return Arrays.compareUnsigned(a.getBinary(rowA), b.getBinary(rowB));
    }

    @Override
    public boolean isExact() {
      return false;
    }
  }

  private record Decimals(DecimalType type) implements Column {
    @Override
    public void prefixes(ColumnVector vector, int from, int to, long[] into) {
      for (int row = from; row < to; row++) {
        Decimal value = vector.getDecimal(row, type.precision(), type.scale());
        into[row] = isExact() ? value.toUnscaledLong() : ordered(value.toDouble());
      }
    }

    /** Rounding to double keeps the order, though not strictly. */
    private static long ordered(double value) {
      long bits = Double.doubleToLongBits(value == 0 ? 0.0 : value);
      return bits >= 0 ? bits : bits ^ Long.MAX_VALUE;
    }

    @Override
    public int compare(ColumnVector a, int rowA, ColumnVector b, int rowB) {
      int precision = type.precision();
      int scale = type.scale();
      return a.getDecimal(rowA, precision, scale).compare(b.getDecimal(rowB, precision, scale));
    }

    @Override
    public boolean isExact() {
      return type.precision() <= Decimal.MAX_LONG_DIGITS();
    }
  }
}
