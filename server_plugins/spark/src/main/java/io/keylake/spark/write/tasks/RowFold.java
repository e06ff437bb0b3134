package io.keylake.spark.write.tasks;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.reducers.Accumulator;
import io.keylake.spark.reducers.builtin.Accumulators;
import io.keylake.spark.reducers.user.GatheredColumn;
import io.keylake.spark.write.tasks.WriteLayout.Column;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.Reducer;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.jspecify.annotations.Nullable;

/**
 * Reduces the rows of one key of one write to the one that is stored, by the merge law: everything
 * has a place (version, row), and the larger place is the newer one. Rows come in the order of
 * their own versions; a column with a version of its own may stand elsewhere, so places are
 * compared one by one. Where the write does not say the order of its rows, it is the order in which
 * they come.
 *
 * <p>Of an accumulator every row counts that comes after the last tombstone, whatever the version
 * of its own that the column has.
 */
final class RowFold {
  private static final InternalRow NONE = InternalRow.empty();

  private final WriteLayout layout;
  private final RowVersions versions;
  private final Column[] values;
  private final int rowOrder;
  private final @Nullable Accumulator[] accumulators;
  private final @Nullable GatheredColumn[] gathered; // of reducers in Python
  private final int[] gatheredAs; // the key's row there; -1 where it has none
  private final int[] combined; // which of a combined row's states is the column's
  private final boolean[] isFirst;
  private final InternalRow[] winners;
  private final long[] at;
  private final long[] order;
  private InternalRow keyRow = NONE;
  private long rows;
  private boolean isWritten;
  private long writtenAt;
  private long writtenOrder;
  private boolean isDeleted;
  private long deletedAt;
  private long deletedOrder;

  RowFold(WriteLayout layout, RowVersions versions) {
    this.layout = layout;
    this.versions = versions;
    this.values = layout.values().toArray(Column[]::new);
    this.accumulators = new Accumulator[values.length];
    this.isFirst = new boolean[values.length];
    this.combined = new int[values.length];
    this.gathered = new GatheredColumn[values.length];
    this.gatheredAs = new int[values.length];
    int states = 0;
    for (int i = 0; i < values.length; i++) {
      Reducer reducer = values[i].reducer();
      isFirst[i] = reducer.kind() == Reducer.Kind.FIRST;
      boolean isPython = reducer.kind() == Reducer.Kind.PYTHON;
      gathered[i] = isPython ? new GatheredColumn(reducer, values[i].type()) : null;
      accumulators[i] =
          reducer.accumulates() && !isFirst[i] && !isPython
              ? Accumulators.of(reducer, values[i].type())
              : null;
      combined[i] = accumulators[i] == null ? -1 : states++;
    }
    this.rowOrder = layout.rowOrder();
    this.winners = new InternalRow[values.length];
    this.at = new long[values.length];
    this.order = new long[values.length];
  }

  void start() {
    Arrays.fill(winners, null);
    clearAccumulators();
    keyRow = NONE;
    rows = 0;
    isWritten = false;
    isDeleted = false;
  }

  /**
   * @param carried which value columns the row carries; null for all
   */
  void write(InternalRow row, long version, boolean @Nullable [] carried) {
    fold(row, version, carried, false);
  }

  /**
   * Takes contributions back; registers stay as they are, but for the one that versions the row.
   *
   * @param carried which value columns the row carries; null for all
   */
  void retract(InternalRow row, long version, boolean @Nullable [] carried) {
    fold(row, version, carried, true);
  }

  private void fold(InternalRow row, long version, boolean @Nullable [] carried, boolean retracts) {
    keyRow = row;
    long own = orderOf(row);
    long newest = version;
    for (int i = 0; i < values.length; i++) {
      boolean isCarried = carried == null || carried[i];
      if (isCarried && !(retracts && isLeft(values[i]))) {
        WriteLayout.Helper source = values[i].versionedBy();
        long columnVersion = source == null ? version : versions.read(row, source);
        newest = Math.max(newest, columnVersion);
        if (!(values[i].reducer().skipsNulls() && saysNothing(row, i))) {
          take(i, row, columnVersion, own, retracts);
        }
      }
    }
    boolean isNewest = !isWritten || isNewer(newest, own, writtenAt, writtenOrder);
    if (survives(newest, own) && isNewest) {
      writtenAt = newest;
      writtenOrder = own;
      isWritten = true;
    }
  }

  /** A row has neither a value nor, where it was combined of several, a state. */
  private boolean saysNothing(InternalRow row, int value) {
    return row.isNullAt(values[value].position()) && stateIn(row, value) == null;
  }

  private boolean isCombined(InternalRow row) {
    return layout.combined() >= 0 && !row.isNullAt(layout.combined());
  }

  private byte @Nullable [] stateIn(InternalRow row, int value) {
    if (!isCombined(row) || combined[value] < 0) {
      return null;
    }
    ArrayData states = row.getArray(layout.combined());
    return states.isNullAt(combined[value]) ? null : states.getBinary(combined[value]);
  }

  private boolean isLeft(Column column) {
    boolean isVersion =
        layout.version() != null && layout.version().position() == column.position();
    return !isVersion && !column.reducer().accumulates();
  }

  private void take(int value, InternalRow row, long version, long own, boolean retracts) {
    if (retracts
        && values[value].reducer().accumulates()
        && !values[value].reducer().hasInverse()) {
      throw new KeylakeException(
          BAD_ROWS,
          "the row with key %s takes a contribution to column '%s' back, which is reduced by %s and gives none back; leave the column null there"
              .formatted(layout.keyOf(row), values[value].name(), values[value].reducer().type()));
    }
    Accumulator accumulator = accumulators[value];
    GatheredColumn gathers = gathered[value];
    if (gathers != null) {
      at[value] = gatheredAs[value] < 0 ? version : Math.max(at[value], version);
      gatheredAs[value] = gatheredAs[value] < 0 ? gathers.nextRow() : gatheredAs[value];
      gathers.contribute(row, values[value].position());
    } else if (accumulator != null) {
      at[value] = accumulator.isEmpty() ? version : Math.max(at[value], version);
      if (isCombined(row)) {
        accumulator.combine(row, values[value].position(), stateIn(row, value));
      } else {
        contribute(accumulator, row, values[value], version, retracts);
      }
    } else if (isFirst[value]) {
      if (winners[value] == null || !isNewer(version, own, at[value], order[value])) {
        winners[value] = row;
        at[value] = version;
        order[value] = own;
      }
    } else {
      offer(value, row, version, own);
    }
  }

  private void contribute(
      Accumulator accumulator, InternalRow row, Column column, long version, boolean retracts) {
    try {
      if (retracts) {
        accumulator.retract(row, column.position());
      } else {
        accumulator.contribute(row, column.position(), layout.isByCommit() ? 0 : version);
      }
    } catch (KeylakeException e) {
      throw new KeylakeException(
          e.kind(),
          "column '%s' of the row with key %s: %s"
              .formatted(column.name(), layout.keyOf(row), e.sentence()));
    }
  }

  private void offer(int value, InternalRow row, long version, long own) {
    boolean wins = winners[value] == null || isNewer(version, own, at[value], order[value]);
    if (wins && survives(version, own)) {
      winners[value] = row;
      at[value] = version;
      order[value] = own;
    }
  }

  void delete(InternalRow row, long version) {
    keyRow = row;
    long own = orderOf(row);
    if (!survives(version, own)) {
      return;
    }
    isDeleted = true;
    deletedAt = version;
    deletedOrder = own;
    clearAccumulators();
    for (int i = 0; i < values.length; i++) {
      if (winners[i] != null && (isFirst[i] || !survives(at[i], order[i]))) {
        winners[i] = null;
      }
    }
    isWritten = isWritten && survives(writtenAt, writtenOrder);
  }

  private void clearAccumulators() {
    Arrays.fill(gatheredAs, -1);
    for (Accumulator accumulator : accumulators) {
      if (accumulator != null) {
        accumulator.clear();
      }
    }
  }

  private long orderOf(InternalRow row) {
    return rowOrder < 0 ? rows++ : row.getLong(rowOrder);
  }

  /** The newest tombstone leaves what stands at a place. */
  private boolean survives(long version, long own) {
    return !isDeleted || isNewer(version, own, deletedAt, deletedOrder);
  }

  private static boolean isNewer(long version, long own, long otherVersion, long otherOrder) {
    return version > otherVersion || (version == otherVersion && own >= otherOrder);
  }

  /** No row of the key says anything. */
  boolean saysNothing() {
    return !isWritten && !isDeleted;
  }

  /** A row still holds the key or the winning value of a column. */
  boolean holds(InternalRow row) {
    if (row == keyRow) {
      return true;
    }
    for (InternalRow winner : winners) {
      if (winner == row) {
        return true;
      }
    }
    return false;
  }

  InternalRow keyRow() {
    return keyRow;
  }

  boolean isWritten() {
    return isWritten;
  }

  long writtenAt() {
    return writtenAt;
  }

  boolean isDeleted() {
    return isDeleted;
  }

  long deletedAt() {
    return deletedAt;
  }

  /** The row that holds the value of a column, or null where it is absent. */
  @Nullable InternalRow winner(int value) {
    return winners[value];
  }

  boolean carries(int value) {
    Accumulator accumulator = accumulators[value];
    return gathered[value] != null
        ? gatheredAs[value] >= 0
        : accumulator == null ? winners[value] != null : !accumulator.isEmpty();
  }

  /** The contributions to a column with a reducer in Python; null for all other columns. */
  @Nullable GatheredColumn gathered(int value) {
    return gathered[value];
  }

  /** The key's row in what a column has gathered; -1 where it has no contributions. */
  int gatheredAs(int value) {
    return gatheredAs[value];
  }

  /** The value of a column as Catalyst has it; null also where it is absent. */
  @Nullable Object value(int value) {
    Accumulator accumulator = accumulators[value];
    if (accumulator != null) {
      return accumulator.value();
    }
    InternalRow winner = winners[value];
    return winner == null ? null : winner.get(values[value].position(), values[value].type());
  }

  /** The state that later merges need beside the value; null for most columns. */
  byte @Nullable [] state(int value) {
    Accumulator accumulator = accumulators[value];
    return accumulator == null ? null : accumulator.state();
  }

  long at(int value) {
    return at[value];
  }

  /** The newest version of all that is stored. */
  long version() {
    if (!isDeleted) {
      return writtenAt;
    }
    return isWritten ? Math.max(writtenAt, deletedAt) : deletedAt;
  }
}
