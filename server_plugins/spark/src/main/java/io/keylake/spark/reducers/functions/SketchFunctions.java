package io.keylake.spark.reducers.functions;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.reducers.functions.ColumnFunctions.Named;
import io.keylake.tables.KeylakeException;
import java.io.Serializable;
import java.util.List;
import java.util.stream.Stream;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.kll.KllDoublesSketch;
import org.apache.datasketches.kll.KllFloatsSketch;
import org.apache.datasketches.kll.KllLongsSketch;
import org.apache.datasketches.theta.UpdateSketch;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * Contributions of single values to the reducers Hll, Theta and Kll: the sketches that Spark's
 * aggregates make of one value, without an aggregation.
 */
final class SketchFunctions {
  private static final String VALUE = "a whole number, string or binary";

  private SketchFunctions() {}

  /** The bytes of the sketch of a value. */
  @FunctionalInterface
  private interface Sketch extends Serializable {
    byte[] of(Object value, int size);
  }

  /** The type to which a value is cast; null where it is of none that has a sketch. */
  @FunctionalInterface
  private interface Cast extends Serializable {
    @Nullable DataType of(DataType value);
  }

  /**
   * A kind of sketches.
   *
   * @param usual the size where none is given
   */
  private record Kind(
      String name,
      String size,
      int least,
      int usual,
      int most,
      String value,
      Cast takes,
      Sketch sketch)
      implements Serializable {

    Named named() {
      String form = "%s(value) or %s(value, %s)".formatted(name, name, size);
      return new Named(name, form, value, (of, arguments) -> function(arguments));
    }

    private @Nullable ColumnFunction function(List<DataType> arguments) {
      boolean isSized = arguments.size() == 2;
      DataType type = arguments.isEmpty() ? null : takes.of(arguments.get(0));
      if (type == null || arguments.size() > 2) {
        return null;
      }
      return isSized
          ? new ColumnFunction(
              name,
              DataTypes.BinaryType,
              row -> sketch.of(row.get(0, type), checked(row.getInt(1))),
              type,
              DataTypes.IntegerType)
          : new ColumnFunction(
              name, DataTypes.BinaryType, row -> sketch.of(row.get(0, type), usual), type);
    }

    private int checked(int given) {
      if (given < least || given > most) {
        throw new KeylakeException(
            BAD_ROWS,
            "the %s of %s is %d; use a whole number from %d to %d"
                .formatted(size, name, given, least, most));
      }
      return given;
    }
  }

  static List<Named> all() {
    return Stream.of(
            new Kind(
                "hll_of", "lg_k", 4, 12, 21, VALUE, SketchFunctions::hashed, SketchFunctions::hll),
            new Kind(
                "theta_of",
                "lg_nominal",
                4,
                12,
                26,
                VALUE,
                SketchFunctions::hashed,
                SketchFunctions::theta),
            new Kind(
                "kll_of",
                "k",
                8,
                200,
                65_535,
                "a whole number, float or double",
                SketchFunctions::ordered,
                SketchFunctions::kll))
        .map(Kind::named)
        .toList();
  }

  private static @Nullable DataType hashed(DataType type) {
    return type instanceof IntegralType
        ? DataTypes.LongType
        : type instanceof StringType || type instanceof BinaryType ? type : null;
  }

  private static @Nullable DataType ordered(DataType type) {
    return type instanceof IntegralType
        ? DataTypes.LongType
        : type instanceof FloatType || type instanceof DoubleType ? type : null;
  }

  private static byte[] hll(Object value, int lgK) {
    HllSketch sketch = new HllSketch(lgK);
    if (value instanceof Long number) {
      sketch.update(number);
    } else {
      sketch.update(bytes(value));
    }
    return sketch.toCompactByteArray();
  }

  private static byte[] theta(Object value, int lgNominal) {
    UpdateSketch sketch = UpdateSketch.builder().setLogNominalEntries(lgNominal).build();
    if (value instanceof Long number) {
      sketch.update(number);
    } else {
      sketch.update(bytes(value));
    }
    return sketch.compact().toByteArrayCompressed();
  }

  private static byte[] bytes(Object value) {
    return value instanceof UTF8String text ? text.getBytes() : (byte[]) value;
  }

  private static byte[] kll(Object value, int k) {
    if (value instanceof Long number) {
      KllLongsSketch sketch = KllLongsSketch.newHeapInstance(k);
      sketch.update(number);
      return sketch.toByteArray();
    }
    if (value instanceof Float number) {
      KllFloatsSketch sketch = KllFloatsSketch.newHeapInstance(k);
      sketch.update(number);
      return sketch.toByteArray();
    }
    KllDoublesSketch sketch = KllDoublesSketch.newHeapInstance(k);
    sketch.update((Double) value);
    return sketch.toByteArray();
  }
}
