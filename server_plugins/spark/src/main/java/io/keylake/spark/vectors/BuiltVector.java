package io.keylake.spark.vectors;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * A column of any type that is built value by value. Numbers lie in arrays, the members of lists,
 * maps and structs in vectors of their own.
 */
public final class BuiltVector extends ReadOnlyVector {
  private static final int FIRST_CAPACITY = 64;

  private final DataType type;
  private final boolean isNumber;
  private final List<BuiltVector> children = new ArrayList<>();
  private long[] numbers = new long[0];
  private Object[] objects = new Object[0];
  private int[] ends = new int[0];
  private boolean[] nulls = new boolean[0];
  private boolean hasNull;
  private int size;

  public BuiltVector(DataType type) {
    super(type);
    this.type = type;
    this.isNumber = isNumber(type);
    if (type instanceof ArrayType list) {
      children.add(new BuiltVector(list.elementType()));
    } else if (type instanceof MapType map) {
      children.add(new BuiltVector(map.keyType()));
      children.add(new BuiltVector(map.valueType()));
    } else if (type instanceof StructType struct) {
      Arrays.stream(struct.fields())
          .forEach(field -> children.add(new BuiltVector(field.dataType())));
    }
  }

  /** Forgets all values. */
  public void clear() {
    size = 0;
    hasNull = false;
    children.forEach(BuiltVector::clear);
  }

  /**
   * Adds a value as Catalyst has it, or null. What it refers to must stay as it is, but for lists,
   * maps and structs, whose members are added one by one.
   */
  public void add(@Nullable Object value) {
    reserve();
    nulls[size] = value == null;
    hasNull |= value == null;
    if (type instanceof ArrayType list) {
      addElements((ArrayData) value, list.elementType(), children.get(0));
      ends[size] = children.get(0).size;
    } else if (type instanceof MapType map) {
      MapData data = (MapData) value;
      addElements(data == null ? null : data.keyArray(), map.keyType(), children.get(0));
      addElements(data == null ? null : data.valueArray(), map.valueType(), children.get(1));
      ends[size] = children.get(0).size;
    } else if (type instanceof StructType struct) {
      InternalRow row = (InternalRow) value;
      for (int i = 0; i < children.size(); i++) {
        DataType member = struct.fields()[i].dataType();
        children.get(i).addOf(row != null && !row.isNullAt(i) ? row : null, i, member);
      }
    } else if (isNumber) {
      numbers[size] = value == null ? 0 : number(value);
    } else {
      objects[size] = value;
    }
    size++;
  }

  /** Adds a number as it is kept: a long, or the bits of a double. Always true. */
  public boolean addNumber(long number) {
    reserve();
    nulls[size] = false;
    numbers[size++] = number;
    return true;
  }

  private static void addElements(
      @Nullable ArrayData elements, DataType element, BuiltVector child) {
    for (int i = 0; elements != null && i < elements.numElements(); i++) {
      child.addOf(elements.isNullAt(i) ? null : elements, i, element);
    }
  }

  private void addOf(@Nullable SpecializedGetters from, int ordinal, DataType of) {
    if (from != null && (of instanceof LongType || of instanceof DoubleType)) {
      addNumber( // without an object for each number
          of instanceof LongType
              ? from.getLong(ordinal)
              : Double.doubleToRawLongBits(from.getDouble(ordinal)));
    } else {
      add(from == null ? null : from.get(ordinal, of));
    }
  }

  private static boolean isNumber(DataType type) {
    return type instanceof LongType
        || type instanceof IntegerType
        || type instanceof DoubleType
        || type instanceof FloatType
        || type instanceof BooleanType
        || type instanceof DateType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType;
  }

  private static long number(Object value) {
    if (value instanceof Double number) {
      return Double.doubleToRawLongBits(number);
    }
    if (value instanceof Float number) {
      return Float.floatToRawIntBits(number);
    }
    return value instanceof Boolean truth ? (truth ? 1 : 0) : ((Number) value).longValue();
  }

  private void reserve() {
    if (size < nulls.length) {
      return;
    }
    int capacity = Math.max(FIRST_CAPACITY, 2 * size);
    nulls = Arrays.copyOf(nulls, capacity);
    if (type instanceof ArrayType || type instanceof MapType) {
      ends = Arrays.copyOf(ends, capacity);
    } else if (isNumber) {
      numbers = Arrays.copyOf(numbers, capacity);
    } else if (children.isEmpty()) {
      objects = Arrays.copyOf(objects, capacity);
    }
  }

  private int begin(int row) {
    return row == 0 ? 0 : ends[row - 1];
  }

  @Override
  public boolean isNullAt(int row) {
    return hasNull && nulls[row];
  }

  @Override
  public boolean hasNull() {
    return hasNull;
  }

  @Override
  public boolean getBoolean(int row) {
    return numbers[row] != 0;
  }

  @Override
  public int getInt(int row) {
    return (int) numbers[row];
  }

  @Override
  public long getLong(int row) {
    return numbers[row];
  }

  @Override
  public float getFloat(int row) {
    return Float.intBitsToFloat((int) numbers[row]);
  }

  @Override
  public double getDouble(int row) {
    return Double.longBitsToDouble(numbers[row]);
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    return (Decimal) objects[row];
  }

  @Override
  public @Nullable UTF8String getUTF8String(int row) {
    return (UTF8String) objects[row];
  }

  @Override
  public byte[] getBinary(int row) {
    return (byte[]) objects[row];
  }

  @Override
  public ColumnarArray getArray(int row) {
    return new ColumnarArray(children.get(0), begin(row), ends[row] - begin(row));
  }

  @Override
  public ColumnarMap getMap(int row) {
    return new ColumnarMap(children.get(0), children.get(1), begin(row), ends[row] - begin(row));
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return children.get(ordinal);
  }
}
