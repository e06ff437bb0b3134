package io.keylake.spark.read.merge;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.merge.Contributions;
import io.keylake.merge.Decisions;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.reducers.Accumulator;
import io.keylake.spark.reducers.builtin.Accumulators;
import io.keylake.spark.reducers.user.GatheredColumn;
import io.keylake.spark.vectors.BuiltVector;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatchRow;
import org.jspecify.annotations.Nullable;

/** A column of an accumulator over merged rows: the contributions of each row become one value. */
final class CombinedColumn {
  private static final ColumnVector[] NONE = {};

  private final NestedField field;
  private final @Nullable NestedField state;
  private final Reducer reducer;
  private final @Nullable Accumulator accumulator; // null where one in Python is asked
  private final @Nullable GatheredColumn gathered;
  private final @Nullable NumberFold numbers;
  private final BuiltVector values;
  private final BuiltVector states = new BuiltVector(DataTypes.BinaryType);
  private final @Nullable Object withoutContributions;
  private final BitSet withoutValue = new BitSet();

  private CombinedColumn(
      KeyedSchema schema, OutputColumn column, @Nullable Object withoutContributions) {
    this.field = schema.table().findField(column.fieldId());
    this.state = schema.stateOf(field);
    this.reducer = schema.spec().reducer(field.name());
    boolean isPython = reducer.kind() == Reducer.Kind.PYTHON;
    this.accumulator = isPython ? null : Accumulators.of(reducer, column.type());
    this.gathered = isPython ? new GatheredColumn(reducer, column.type()) : null;
    this.numbers = NumberFold.of(reducer, column.type());
    this.values = new BuiltVector(column.type());
    this.withoutContributions = withoutContributions;
  }

  /**
   * @param isHistory whether later merges go on with the values, so that none is made up
   */
  static CombinedColumn of(KeyedSchema schema, OutputColumn column, boolean isHistory) {
    String name = schema.table().findField(column.fieldId()).name();
    boolean isCount = schema.spec().reducer(name).kind() == Reducer.Kind.COUNT;
    return new CombinedColumn(schema, column, isCount && !isHistory ? 0L : null);
  }

  int fieldId() {
    return field.fieldId();
  }

  /** The states in each run's current batch, null in runs without; empty where no run has any. */
  ColumnVector[] states(List<ColumnarRunCursor> cursors) {
    NestedField of = state;
    if (of == null) {
      return NONE;
    }
    ColumnVector[] found = new ColumnVector[cursors.size()];
    boolean hasAny = false;
    for (int run = 0; run < found.length; run++) {
      found[run] = cursors.get(run).state(of);
      hasAny |= found[run] != null;
    }
    return hasAny ? found : NONE;
  }

  /**
   * Combines the contributions of a batch of merged rows.
   *
   * @param sources the column in each run's current batch; null in runs that do not carry it
   * @param stored the states likewise; empty where there are none
   * @param hidden which rows show nothing; empty for none
   */
  void combine(
      ColumnVector[] sources,
      ColumnVector[] stored,
      Contributions all,
      int count,
      boolean[] hidden) {
    ColumnarBatchRow[] rows = new ColumnarBatchRow[sources.length];
    for (int run = 0; run < rows.length; run++) {
      rows[run] =
          sources[run] == null ? null : new ColumnarBatchRow(new ColumnVector[] {sources[run]});
    }
    values.clear();
    states.clear();
    withoutValue.clear();
    int[] starts = all.starts();
    int[] places = all.places();
    if (gathered != null) {
      gather(gathered, rows, stored, all, count, hidden);
      return;
    }
    Accumulator accumulator = Objects.requireNonNull(this.accumulator);
    for (int i = 0; i < count; i++) {
      if (hidden.length > 0 && hidden[i]) {
        values.add(null);
        states.add(null);
        continue;
      }
      boolean isFolded =
          numbers != null
              && starts[i] < starts[i + 1]
              && areValues(sources, stored, places, starts[i], starts[i + 1])
              && numbers.fold(sources, places, starts[i], starts[i + 1], values);
      if (isFolded) {
        states.add(null);
      } else {
        accumulator.clear();
        for (int at = starts[i]; at < starts[i + 1]; at++) {
          int run = Decisions.run(places[at]);
          ColumnVector states = stored.length == 0 ? null : stored[run];
          take(accumulator, rows[run], states, Decisions.row(places[at]));
        }
        finish(accumulator, i);
      }
    }
  }

  /** The values say all: there is one at each place, and no state. */
  private static boolean areValues(
      ColumnVector[] sources, ColumnVector[] stored, int[] places, int from, int to) {
    for (int at = from; at < to; at++) {
      int run = Decisions.run(places[at]);
      int row = Decisions.row(places[at]);
      ColumnVector source = sources[run];
      boolean hasState = stored.length > 0 && stored[run] != null && !stored[run].isNullAt(row);
      if (hasState || source == null || (source.hasNull() && source.isNullAt(row))) {
        return false;
      }
    }
    return true;
  }

  /** Combines a batch at once. */
  private void gather(
      GatheredColumn batch,
      @Nullable ColumnarBatchRow[] rows,
      ColumnVector[] stored,
      Contributions all,
      int count,
      boolean[] hidden) {
    batch.clear();
    int[] places = all.places();
    for (int i = 0; i < count; i++) {
      batch.nextRow();
      int end = hidden.length > 0 && hidden[i] ? all.starts()[i] : all.starts()[i + 1];
      for (int at = all.starts()[i]; at < end; at++) {
        int run = Decisions.run(places[at]);
        int row = Decisions.row(places[at]);
        ColumnarBatchRow holder = rows[run];
        ColumnVector states = stored.length == 0 ? null : stored[run];
        if (states != null && !states.isNullAt(row)) {
          batch.combine(states.getBinary(row));
        } else if (holder != null) {
          holder.rowId = row;
          if (!holder.isNullAt(0)) {
            batch.contribute(holder, 0);
          }
        }
      }
    }
    batch.reduce();
    for (int i = 0; i < count; i++) {
      values.add(batch.has(i) ? batch.value(i) : withoutContributions);
      states.add(batch.has(i) ? batch.state(i) : null);
    }
  }

  private static void take(
      Accumulator accumulator,
      @Nullable ColumnarBatchRow row,
      @Nullable ColumnVector stored,
      int at) {
    byte[] own = stored == null || stored.isNullAt(at) ? null : stored.getBinary(at);
    if (row != null) {
      row.rowId = at;
      if (own != null || !row.isNullAt(0)) {
        accumulator.combine(row, 0, own);
      }
    }
  }

  private void finish(Accumulator accumulator, int row) {
    if (accumulator.isEmpty()) {
      values.add(withoutContributions);
      states.add(null);
      return;
    }
    Object value = accumulator.value();
    values.add(value);
    states.add(state == null ? null : accumulator.state());
    if (!accumulator.isShown(value)) {
      withoutValue.set(row);
    }
  }

  /** The rows that have contributions and yet no value. */
  BitSet withoutValue() {
    return withoutValue;
  }

  ColumnVector values() {
    return values;
  }

  ColumnVector states() {
    return states;
  }

  KeylakeException overflow(String key) {
    return new KeylakeException(
        BAD_ROWS,
        "%s of column '%s' does not fit its type %s for the key %s; widen the column's type (ALTER COLUMN ... TYPE), or write a contribution that brings it back"
            .formatted(reducer.type(), field.name(), field.type(), key));
  }
}
