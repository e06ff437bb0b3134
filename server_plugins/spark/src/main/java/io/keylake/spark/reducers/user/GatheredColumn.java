package io.keylake.spark.reducers.user;

import io.keylake.tables.spec.Reducer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * The contributions to a column of a batch of rows, which a class in Python combines all at once:
 * they are gathered row after row, reduced, and then each row has a value and a state. The state is
 * a row as Spark keeps it in bytes.
 *
 * <p>A row may have any number of contributions. When {@link #MOST_ENTRIES} or {@link #MOST_BYTES}
 * have come, those of each row are reduced to its state, which stands for them.
 */
public final class GatheredColumn {
  private static final int MOST_ENTRIES = 1 << 15;
  private static final long MOST_BYTES = 32L << 20;

  private final PythonReducer reducer;
  private final StructType columns;
  private final UnsafeProjection stateBytes;
  private final List<InternalRow> entries = new ArrayList<>();
  private int most = MOST_ENTRIES;
  private long bytes;
  private int rows;
  private @Nullable Object[] values = new Object[0];
  private byte[] @Nullable [] states = new byte[0][];

  /**
   * @param reducer a class in Python
   * @param type of the column
   */
  public GatheredColumn(Reducer reducer, DataType type) {
    this.reducer = PythonReducer.of(reducer, type);
    StructType state = this.reducer.state();
    this.columns =
        new StructType()
            .add("row", DataTypes.IntegerType, false)
            .add("value", type)
            .add("state", state);
    this.stateBytes = UnsafeProjection.create(state);
  }

  /** Begins the next row; its number. What a row has gathered may be left alone for good. */
  public int nextRow() {
    return rows++;
  }

  public int rows() {
    return rows;
  }

  /** Takes a contribution of the last row, as somebody wrote it. Nothing of the row is kept. */
  public void contribute(SpecializedGetters row, int ordinal) {
    Object value = InternalRow.copyValue(row.get(ordinal, reducer.type()));
    bytes += size(value);
    take(value, null);
  }

  /** Takes what was combined before of contributions to the last row. */
  public void combine(byte[] state) {
    UnsafeRow row = new UnsafeRow(reducer.state().length());
    row.pointTo(state, state.length);
    take(null, row);
  }

  private static long size(Object value) {
    if (value instanceof UTF8String text) {
      return text.numBytes();
    }
    if (value instanceof UnsafeArrayData list) {
      return list.getSizeInBytes();
    }
    return value instanceof byte[] binary
        ? binary.length
        : value instanceof UnsafeRow row ? row.getSizeInBytes() : 0;
  }

  private void take(@Nullable Object value, @Nullable InternalRow state) {
    entries.add(new GenericInternalRow(new Object[] {rows - 1, value, state}));
    if (entries.size() >= most || bytes > MOST_BYTES) {
      reduce();
      for (int row = 0; row < rows; row++) {
        byte[] reduced = states[row];
        if (reduced != null) {
          UnsafeRow stands = new UnsafeRow(reducer.state().length());
          stands.pointTo(reduced, reduced.length);
          entries.add(new GenericInternalRow(new Object[] {row, null, stands}));
        }
      }
      most = Math.max(MOST_ENTRIES, 2 * entries.size());
    }
  }

  /** Reduces all that was gathered; then each row with contributions has a value and a state. */
  public void reduce() {
    values = new Object[rows];
    states = new byte[rows][];
    if (!entries.isEmpty()) {
      ArrowBytes.read(reducer.reduce(columns, entries), this::keep);
      entries.clear();
      bytes = 0;
    }
  }

  private void keep(InternalRow reduced) {
    int row = reduced.getInt(0);
    values[row] =
        reduced.isNullAt(1) ? null : InternalRow.copyValue(reduced.get(1, reducer.type()));
    UnsafeRow state = stateBytes.apply(reduced.getStruct(2, reducer.state().length()));
    states[row] = Arrays.copyOf(state.getBytes(), state.getSizeInBytes());
  }

  /** A row had contributions when all was reduced. */
  public boolean has(int row) {
    return states[row] != null;
  }

  /** The value of a row as Catalyst has it. */
  public @Nullable Object value(int row) {
    return values[row];
  }

  /** The state of a row that has one. */
  public byte[] state(int row) {
    return Objects.requireNonNull(states[row]);
  }

  /** Forgets all rows. */
  public void clear() {
    entries.clear();
    bytes = 0;
    most = MOST_ENTRIES;
    rows = 0;
    values = new Object[0];
    states = new byte[0][];
  }
}
