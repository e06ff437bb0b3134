package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/**
 * The sum of arrays, element by element. What an array lacks, and what is null in it, is a zero.
 *
 * <p>The state is there as soon as one element has one. Byte 0 is the form, then follow, for each
 * element, the length of its state, an int, and the state.
 */
final class ArraySum extends Accumulator {
  private static final byte FORM = 1;

  private final DataType type;
  private final List<Sum> elements = new ArrayList<>();
  private int length;
  private int shortest = Integer.MAX_VALUE;

  ArraySum(DataType type) {
    this.type = type;
  }

  @Override
  protected void reset() {
    for (int i = 0; i < length; i++) {
      elements.get(i).clear();
    }
    length = 0;
    shortest = Integer.MAX_VALUE;
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    each(row.getArray(ordinal), Accumulator::contribute);
  }

  @Override
  protected void subtract(SpecializedGetters row, int ordinal) {
    each(row.getArray(ordinal), Accumulator::retract);
  }

  private void each(ArrayData array, ContributionStep step) {
    reach(array.numElements());
    for (int i = 0; i < array.numElements(); i++) {
      if (array.isNullAt(i)) {
        elements.get(i).addZero();
      } else {
        step.take(elements.get(i), array, i);
      }
    }
  }

  private void reach(int size) {
    while (elements.size() < size) {
      elements.add(Accumulators.sum(type));
    }
    length = Math.max(length, size);
    shortest = Math.min(shortest, size);
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    if (state == null) {
      add(row, ordinal);
      return;
    }
    ByteBuffer bytes = ByteBuffer.wrap(state, 1, state.length - 1);
    int size = 0;
    while (bytes.hasRemaining()) {
      byte[] of = new byte[bytes.getInt()];
      bytes.get(of);
      while (elements.size() <= size) {
        elements.add(Accumulators.sum(type));
      }
      elements.get(size++).mergeWhole(of);
    }
    reach(size);
  }

  @Override
  public @Nullable Object value() {
    if (isEmpty()) {
      return null;
    }
    finish();
    Object[] values = new Object[length];
    for (int i = 0; i < length; i++) {
      values[i] = elements.get(i).value();
      if (values[i] == null) {
        return null;
      }
    }
    return new GenericArrayData(values);
  }

  /** Elements that some array lacks have a zero of it. */
  private void finish() {
    for (int i = shortest; i < length; i++) {
      elements.get(i).addZero();
    }
  }

  @Override
  public byte @Nullable [] state() {
    if (isEmpty()) {
      return null;
    }
    finish();
    boolean isNeeded = false;
    int size = 1;
    List<byte[]> states = new ArrayList<>();
    for (int i = 0; i < length; i++) {
      isNeeded |= elements.get(i).state() != null;
    }
    if (!isNeeded) {
      return null;
    }
    for (int i = 0; i < length; i++) {
      byte[] state = elements.get(i).wholeState();
      states.add(state);
      size += Integer.BYTES + state.length;
    }
    ByteBuffer bytes = ByteBuffer.allocate(size).put(FORM);
    states.forEach(state -> bytes.putInt(state.length).put(state));
    return bytes.array();
  }
}
