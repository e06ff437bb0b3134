package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import io.keylake.tables.spec.Reducer;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * One of the values that a value is made of: a member of a struct, or the value of a key of a map.
 *
 * <p>The states of parts are there as soon as one has one. Byte 0 is the form, then follow, for
 * each part, the length of its state, an int, and the state; -1 is a part whose value says all.
 */
final class Part {
  private static final byte FORM = 1;
  private static final int NONE = -1;

  private final DataType type;
  private final Accumulator accumulator;
  private final @Nullable Object withoutContributions;
  private boolean isShown;

  Part(DataType type, Accumulator accumulator, @Nullable Object withoutContributions) {
    this.type = type;
    this.accumulator = accumulator;
    this.withoutContributions = withoutContributions;
  }

  static Part of(Reducer reducer, DataType type) {
    boolean isCount = reducer.kind() == Reducer.Kind.COUNT;
    return new Part(type, Accumulators.of(reducer, type), isCount ? 0L : null);
  }

  Accumulator accumulator() {
    return accumulator;
  }

  /** The value as files have it; where the type cannot hold it, some other one of the type. */
  @Nullable Object value() {
    isShown = true;
    if (accumulator.isEmpty()) {
      return withoutContributions;
    }
    Object value = accumulator.value();
    isShown = accumulator.isShown(value);
    return value == null ? placeholder(type) : value;
  }

  /** The value that was just given is what a read shows. */
  boolean isShown() {
    return isShown;
  }

  /**
   * A value in place of a sum that is too large, of the types that can have one. It is not null,
   * since members can be required.
   */
  private static Object placeholder(DataType type) {
    if (type instanceof IntegerType) {
      return 0;
    }
    if (type instanceof LongType) {
      return 0L;
    }
    if (type instanceof DecimalType decimal) {
      return Decimal.apply(0L, decimal.precision(), decimal.scale());
    }
    ArrayData none = new GenericArrayData(new Object[0]);
    if (type instanceof ArrayType) {
      return none;
    }
    if (type instanceof StructType) { // a value for each day
      return new GenericInternalRow(new Object[] {0, none});
    }
    throw new IllegalArgumentException(type.catalogString() + " holds every value");
  }

  /** The states of all parts; null where no part has one. */
  static byte @Nullable [] states(List<Part> parts) {
    byte[][] states = new byte[parts.size()][];
    int size = 1;
    boolean isNeeded = false;
    for (int i = 0; i < states.length; i++) {
      states[i] = parts.get(i).accumulator.isEmpty() ? null : parts.get(i).accumulator.state();
      size += Integer.BYTES + (states[i] == null ? 0 : states[i].length);
      isNeeded |= states[i] != null;
    }
    if (!isNeeded) {
      return null;
    }
    ByteBuffer bytes = ByteBuffer.allocate(size).put(FORM);
    for (byte[] state : states) {
      bytes.putInt(state == null ? NONE : state.length);
      if (state != null) {
        bytes.put(state);
      }
    }
    return bytes.array();
  }

  /** The state of each part, null where it has none. */
  static byte[] @Nullable [] states(byte @Nullable [] states, int parts) {
    byte[][] found = new byte[parts][];
    if (states == null) {
      return found;
    }
    int at = 1;
    for (int i = 0; i < parts; i++) {
      int length = ByteBuffer.wrap(states).getInt(at);
      at += Integer.BYTES;
      if (length != NONE) {
        found[i] = Arrays.copyOfRange(states, at, at + length);
        at += length;
      }
    }
    return found;
  }
}
