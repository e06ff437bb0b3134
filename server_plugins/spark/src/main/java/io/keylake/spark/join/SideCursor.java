package io.keylake.spark.join;

import io.keylake.spark.vectors.TakenVector;
import java.util.Iterator;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/** One side as the join walks it, and which of its rows the rows of the first input have met. */
final class SideCursor {
  private final Iterator<ColumnarBatch> batches;
  private final Side side;
  private final BatchKeys own;
  private final BatchKeys first;
  private @Nullable ColumnarBatch batch;
  private boolean hasEnded;
  private int size;
  private int row;
  private int[] rows = {};
  private int matched;

  /**
   * @param first the keys of the current batch of the first input
   */
  SideCursor(Side side, BatchKeys first, Iterator<ColumnarBatch> batches) {
    this.batches = batches;
    this.side = side;
    this.own = new BatchKeys(side.ownKey(), side.types());
    this.first = first;
  }

  Side.How how() {
    return side.how();
  }

  /** The batch in which the rows lie; null where there is none, and then no row is met. */
  @Nullable ColumnarBatch batch() {
    return batch;
  }

  /** The row of the batch that a row of the first input meets, or {@link TakenVector#NOWHERE}. */
  int met(int firstRow) {
    return rows[firstRow];
  }

  /** Begins with another batch of the first input. */
  void begin(int rowsOfFirst) {
    matched = 0;
    if (rows.length < rowsOfFirst) {
      rows = new int[rowsOfFirst];
    }
  }

  /**
   * Finds what rows of the first input meet, up to one of them; but no further than one batch of
   * this side goes, unless none of the rows needs that batch any more.
   *
   * @param from the first row that has not been passed on yet
   * @return up to where it is known
   */
  int match(int from, int to) {
    while (matched < to) {
      if (first.isNull(matched)) {
        rows[matched++] = TakenVector.NOWHERE;
        continue;
      }
      int order = -1;
      while (row < size && (order = own.compare(row, first, matched)) < 0) {
        row++;
      }
      if (row < size) {
        rows[matched++] = order == 0 ? row : TakenVector.NOWHERE;
      } else if (hasEnded) {
        rows[matched++] = TakenVector.NOWHERE;
      } else if (matched > from) {
        return matched;
      } else {
        load();
      }
    }
    return to;
  }

  private void load() {
    hasEnded = !batches.hasNext();
    row = 0;
    if (hasEnded) {
      batch = null;
      size = 0;
    } else {
      ColumnarBatch next = batches.next();
      batch = next;
      size = next.numRows();
      own.show(next);
    }
  }
}
