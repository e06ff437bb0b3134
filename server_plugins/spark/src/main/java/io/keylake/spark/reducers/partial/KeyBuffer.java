package io.keylake.spark.reducers.partial;

import io.keylake.spark.reducers.Accumulator;
import io.keylake.spark.reducers.builtin.Accumulators;
import io.keylake.spark.reducers.partial.CombineSpec.Accumulated;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.jspecify.annotations.Nullable;

/**
 * The rows of one key that have come so far: the newest of them and, as soon as there are two, what
 * their contributions make. One object serves key after key.
 */
final class KeyBuffer {
  private static final int MOST_CREDIT = 64;

  private final CombineSpec combining;
  private final UnsafeRow key;
  private final UnsafeRow newest;
  private Accumulator @Nullable [] accumulators;
  private int rows;
  private int credit;

  KeyBuffer(CombineSpec combining, UnsafeRow key, UnsafeRow row) {
    this.combining = combining;
    this.key = key.copy();
    this.newest = row.copy();
    this.rows = 1;
  }

  boolean isOf(UnsafeRow other) {
    return key.equals(other);
  }

  /** Puts another key in the place of this one, whose row was taken. */
  void replace(UnsafeRow otherKey, UnsafeRow row) {
    key.copyFrom(otherKey);
    newest.copyFrom(row);
    rows = 1;
    credit = 0;
  }

  /** The key stays when a row of another one wants its place, which costs it some credit. */
  boolean stays() {
    return credit-- > 0;
  }

  void add(UnsafeRow row) {
    List<Accumulated> columns = combining.accumulated();
    if (accumulators == null) {
      accumulators =
          columns.stream()
              .map(
                  column ->
                      Accumulators.of(column.reducer(), combining.types().get(column.position())))
              .toArray(Accumulator[]::new);
    }
    if (rows == 1) {
      for (Accumulator accumulator : accumulators) {
        accumulator.clear();
      }
      contribute(accumulators, newest);
    }
    contribute(accumulators, row);
    if (combining.version() >= 0 && version(row) > version(newest)) {
      newest.copyFrom(row);
    }
    rows++;
    credit = Math.min(MOST_CREDIT, credit + 2);
  }

  private void contribute(Accumulator[] to, UnsafeRow row) {
    for (int i = 0; i < to.length; i++) {
      int position = combining.accumulated().get(i).position();
      if (!row.isNullAt(position)) {
        to[i].contribute(row, position);
      }
    }
  }

  private long version(UnsafeRow row) {
    int position = combining.version();
    return combining.hasIntVersion() ? row.getInt(position) : row.getLong(position);
  }

  /** The row that stands for all; a row that came alone stays as it was. */
  InternalRow row() {
    if (rows == 1 || accumulators == null || combining.states() < 0) {
      return newest;
    }
    Object[] values = new Object[combining.types().size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = newest.get(i, combining.types().get(i));
    }
    Object[] states = new Object[accumulators.length];
    for (int i = 0; i < accumulators.length; i++) {
      values[combining.accumulated().get(i).position()] = accumulators[i].value();
      states[i] = accumulators[i].state();
    }
    values[combining.states()] = new GenericArrayData(states);
    return new GenericInternalRow(values);
  }
}
