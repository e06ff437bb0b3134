package io.keylake.spark.reducers.functions;

import static io.keylake.spark.reducers.functions.ColumnFunctions.is;
import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.reducers.functions.ColumnFunctions.Binding;
import io.keylake.spark.reducers.functions.ColumnFunctions.Named;
import io.keylake.spark.reducers.sketches.RoaringBytes;
import io.keylake.tables.KeylakeException;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.IntegralType;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/** Contributions to the reducer BitmapOr, and what it says, of numbers from 0 to 2^32 - 1. */
final class RoaringFunctions {
  private static final String BITMAP = "the bytes of a Roaring bitmap";
  private static final DataType LONGS = DataTypes.createArrayType(DataTypes.LongType);

  private RoaringFunctions() {}

  /** A function that makes one bitmap of two. */
  @FunctionalInterface
  private interface Combination extends Serializable {
    RoaringBitmap of(RoaringBitmap one, RoaringBitmap other);
  }

  static List<Named> all() {
    return List.of(
        new Named(
            "roaring_of",
            "roaring_of(value)",
            "a whole number, or an array of them",
            RoaringFunctions::made),
        new Named(
            "roaring_count",
            "roaring_count(bitmap)",
            BITMAP,
            ofBitmap(DataTypes.LongType, RoaringBitmap::getLongCardinality)),
        new Named(
            "roaring_to_array",
            "roaring_to_array(bitmap)",
            BITMAP,
            ofBitmap(LONGS, RoaringFunctions::numbers)),
        new Named(
            "roaring_contains",
            "roaring_contains(bitmap, value)",
            BITMAP + " and a whole number",
            RoaringFunctions::contains),
        combination("roaring_or", (one, other) -> RoaringBitmap.or(one, other)),
        combination("roaring_and", (one, other) -> RoaringBitmap.and(one, other)),
        combination("roaring_andnot", (one, other) -> RoaringBitmap.andNot(one, other)));
  }

  private static @Nullable ColumnFunction made(String name, List<DataType> arguments) {
    if (arguments.size() != 1) {
      return null;
    }
    DataType type = arguments.get(0);
    if (type instanceof ArrayType array && array.elementType() instanceof IntegralType) {
      return new ColumnFunction(name, DataTypes.BinaryType, row -> of(row.getArray(0)), LONGS);
    }
    return type instanceof IntegralType
        ? new ColumnFunction(
            name,
            DataTypes.BinaryType,
            row -> RoaringBytes.write(RoaringBitmap.bitmapOf(number(row.getLong(0)))),
            DataTypes.LongType)
        : null;
  }

  private static byte[] of(ArrayData numbers) {
    RoaringBitmap bitmap = new RoaringBitmap();
    for (int i = 0; i < numbers.numElements(); i++) {
      if (!numbers.isNullAt(i)) {
        bitmap.add(number(numbers.getLong(i)));
      }
    }
    return RoaringBytes.write(bitmap);
  }

  private static int number(long value) {
    if (value < 0 || value > 0xFFFF_FFFFL) {
      throw new KeylakeException(
          BAD_ROWS,
          "%d is not in a Roaring bitmap of 32-bit numbers; use numbers from 0 to 4294967295"
              .formatted(value));
    }
    return (int) value;
  }

  /** A function that reads a value from a bitmap. */
  @FunctionalInterface
  private interface Reading extends Serializable {
    Object of(RoaringBitmap bitmap);
  }

  private static Binding ofBitmap(DataType result, Reading reading) {
    return (name, arguments) ->
        arguments.size() == 1 && is(arguments.get(0), DataTypes.BinaryType)
            ? new ColumnFunction(
                name,
                result,
                row -> reading.of(RoaringBytes.read(row.getBinary(0))),
                DataTypes.BinaryType)
            : null;
  }

  private static ArrayData numbers(RoaringBitmap bitmap) {
    int[] found = bitmap.toArray();
    long[] numbers = new long[found.length];
    for (int i = 0; i < found.length; i++) {
      numbers[i] = Integer.toUnsignedLong(found[i]);
    }
    return new GenericArrayData(numbers);
  }

  private static @Nullable ColumnFunction contains(String name, List<DataType> arguments) {
    boolean fits =
        arguments.size() == 2
            && is(arguments.get(0), DataTypes.BinaryType)
            && (arguments.get(1) instanceof IntegralType
                || is(arguments.get(1), DataTypes.LongType));
    return fits
        ? new ColumnFunction(
            name,
            DataTypes.BooleanType,
            row -> RoaringBytes.read(row.getBinary(0)).contains(number(row.getLong(1))),
            DataTypes.BinaryType,
            DataTypes.LongType)
        : null;
  }

  private static Named combination(String function, Combination combination) {
    return new Named(
        function,
        function + "(bitmap, bitmap)",
        BITMAP + " twice",
        (name, arguments) ->
            arguments.size() == 2
                    && is(arguments.get(0), DataTypes.BinaryType)
                    && is(arguments.get(1), DataTypes.BinaryType)
                ? new ColumnFunction(
                    name,
                    DataTypes.BinaryType,
                    row ->
                        RoaringBytes.write(
                            combination.of(
                                RoaringBytes.read(row.getBinary(0)),
                                RoaringBytes.read(row.getBinary(1)))),
                    DataTypes.BinaryType,
                    DataTypes.BinaryType)
                : null);
  }
}
