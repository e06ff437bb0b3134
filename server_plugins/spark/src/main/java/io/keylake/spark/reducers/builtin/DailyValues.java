package io.keylake.spark.reducers.builtin;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.reducers.Accumulator;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.Reducer;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * A value for each of the last days: {@code values[i]} is that of the day {@code day - i}. What is
 * older than the newest day by the number of days that are kept, or more, falls out.
 *
 * <p>The accumulators of the days lie in a ring, that of a day at the day modulo their number, so
 * that a newer day only clears those that fall out.
 *
 * <p>The state is there as soon as one day has one: byte 0 is the form, then follow the newest day,
 * an int, and for each day from it back the length of its state, an int, and the state; -1 is a day
 * without contributions.
 */
final class DailyValues extends Accumulator {
  private static final byte FORM = 1;
  private static final int NONE = -1;

  private final Accumulator[] ring;
  private int newest;
  private int oldest; // of all that have come, also of those that fell out
  private boolean hasDay;

  DailyValues(Reducer reducer, StructType type) {
    DataType values = ((ArrayType) type.fields()[1].dataType()).elementType();
    Reducer ofDay = Objects.requireNonNull(reducer.of(), "what a day does");
    this.ring = new Accumulator[reducer.size("days")];
    for (int i = 0; i < ring.length; i++) {
      ring[i] = Accumulators.of(ofDay, values);
    }
  }

  @Override
  protected void reset() {
    for (int i = span(); i > 0; i--) {
      at(newest - i + 1).clear();
    }
    hasDay = false;
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    each(row, ordinal, Accumulator::contribute);
  }

  @Override
  protected void subtract(SpecializedGetters row, int ordinal) {
    each(row, ordinal, Accumulator::retract);
  }

  private void each(SpecializedGetters row, int ordinal, ContributionStep step) {
    InternalRow contribution = row.getStruct(ordinal, 2);
    if (contribution.isNullAt(0)) {
      throw new KeylakeException(
          BAD_ROWS, "the contribution has no day; give the day to which its first value belongs");
    }
    int day = contribution.getInt(0);
    reach(day);
    if (contribution.isNullAt(1)) {
      return;
    }
    ArrayData values = contribution.getArray(1);
    for (int i = 0; i < values.numElements(); i++) {
      if (!values.isNullAt(i) && isKept((long) day - i)) {
        oldest = Math.min(oldest, day - i);
        step.take(at(day - i), values, i);
      }
    }
  }

  /** Makes a day the newest, if it is. */
  private void reach(int day) {
    if (!hasDay) {
      newest = day;
      oldest = day;
      hasDay = true;
      return;
    }
    long ahead = (long) day - newest;
    for (long i = 1; i <= Math.min(ahead, ring.length); i++) {
      at((int) (newest + i)).clear();
    }
    newest = Math.max(newest, day);
  }

  private boolean isKept(long day) {
    return day > (long) newest - ring.length;
  }

  private Accumulator at(int day) {
    return ring[Math.floorMod(day, ring.length)];
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    if (state == null) {
      add(row, ordinal);
      return;
    }
    ByteBuffer bytes = ByteBuffer.wrap(state, 1, state.length - 1);
    int day = bytes.getInt();
    reach(day);
    for (long of = day; bytes.hasRemaining(); of--) {
      int length = bytes.getInt();
      if (length != NONE) {
        byte[] whole = new byte[length];
        bytes.get(whole);
        if (isKept(of)) {
          oldest = Math.min(oldest, (int) of);
          ((Sum) at((int) of)).mergeWhole(whole);
        }
      }
    }
  }

  /** The number of days, from the newest back, that can have contributions. */
  private int span() {
    return hasDay ? (int) Math.min(ring.length, (long) newest - oldest + 1) : 0;
  }

  /** The number of days from the newest back to the oldest that has contributions. */
  private int length() {
    int length = span();
    while (length > 0 && at(newest - length + 1).isEmpty()) {
      length--;
    }
    return length;
  }

  @Override
  public @Nullable Object value() {
    if (isEmpty()) {
      return null;
    }
    Object[] values = new Object[length()];
    for (int i = 0; i < values.length; i++) {
      Accumulator day = at(newest - i);
      values[i] = day.value();
      if (values[i] == null && !day.isEmpty()) {
        return null;
      }
    }
    return new GenericInternalRow(new Object[] {newest, new GenericArrayData(values)});
  }

  @Override
  public byte @Nullable [] state() {
    int length = isEmpty() ? 0 : length();
    boolean isNeeded = false;
    int size = 1 + Integer.BYTES;
    byte[][] states = new byte[length][];
    for (int i = 0; i < length; i++) {
      Accumulator day = at(newest - i);
      isNeeded |= day.state() != null;
    }
    if (!isNeeded) {
      return null;
    }
    for (int i = 0; i < length; i++) {
      Sum day = (Sum) at(newest - i);
      states[i] = day.isEmpty() ? new byte[0] : day.wholeState();
      size += Integer.BYTES + states[i].length;
    }
    ByteBuffer bytes = ByteBuffer.allocate(size).put(FORM).putInt(newest);
    for (int i = 0; i < length; i++) {
      bytes.putInt(at(newest - i).isEmpty() ? NONE : states[i].length).put(states[i]);
    }
    return bytes.array();
  }
}
