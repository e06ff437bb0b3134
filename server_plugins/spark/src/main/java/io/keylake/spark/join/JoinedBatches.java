package io.keylake.spark.join;

import io.keylake.spark.engine.ConstantVector;
import io.keylake.spark.vectors.TakenVector;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.function.LongConsumer;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * The rows of several sorted inputs beside each other. Nothing is copied: a batch of the result
 * says for each of its rows where in the batches of the inputs it lies, and ends where one of these
 * does.
 *
 * <p>A batch is valid until the next one is asked for.
 */
final class JoinedBatches implements Iterator<ColumnarBatch> {
  private final JoinPlan plan;
  private final Iterator<ColumnarBatch> batches;
  private final List<SideCursor> sides = new ArrayList<>();
  private final Map<List<Integer>, BatchKeys> firstKeys = new HashMap<>(); // most sides share one
  private final LongConsumer rowsOut;
  private final int[][] taken;
  private ColumnarBatch first = new ColumnarBatch(new ColumnVector[0], 0);
  private int from;
  private @Nullable ColumnarBatch ready;

  /**
   * @param inputs the first one, and those of the sides
   * @param rowsOut is told how many rows there are
   */
  JoinedBatches(JoinPlan plan, List<Iterator<ColumnarBatch>> inputs, LongConsumer rowsOut) {
    this.plan = plan;
    this.batches = inputs.get(0);
    this.rowsOut = rowsOut;
    this.taken = new int[inputs.size()][0];
    for (Side side : plan.sides()) {
      BatchKeys firstKey =
          firstKeys.computeIfAbsent(side.firstKey(), key -> new BatchKeys(key, side.types()));
      sides.add(new SideCursor(side, firstKey, inputs.get(sides.size() + 1)));
    }
  }

  @Override
  public boolean hasNext() {
    while (ready == null && hasFirst()) {
      int to = first.numRows();
      for (SideCursor side : sides) {
        to = side.match(from, to);
      }
      int count = take(to);
      from = to;
      if (count > 0) {
        rowsOut.accept(count);
        ready = new ColumnarBatch(vectors(count), count);
      }
    }
    return ready != null;
  }

  @Override
  public ColumnarBatch next() {
    ColumnarBatch next = hasNext() ? ready : null;
    if (next == null) {
      throw new NoSuchElementException();
    }
    ready = null;
    return next;
  }

  private boolean hasFirst() {
    while (from == first.numRows()) {
      if (!batches.hasNext()) {
        return false;
      }
      first = batches.next();
      from = 0;
      for (BatchKeys keys : firstKeys.values()) {
        keys.show(first);
      }
      for (SideCursor side : sides) {
        side.begin(first.numRows());
      }
      if (taken[0].length < first.numRows()) {
        for (int i = 0; i < taken.length; i++) {
          taken[i] = new int[first.numRows()];
        }
      }
    }
    return true;
  }

  /** The number of rows that stay, up to one of the first input; notes them and those they meet. */
  private int take(int to) {
    int count = 0;
    for (int row = from; row < to; row++) {
      if (isKept(row)) {
        taken[0][count] = row;
        for (int i = 0; i < sides.size(); i++) {
          taken[i + 1][count] = sides.get(i).met(row);
        }
        count++;
      }
    }
    return count;
  }

  private boolean isKept(int row) {
    for (SideCursor side : sides) {
      if (!side.how().keeps(side.met(row) != TakenVector.NOWHERE)) {
        return false;
      }
    }
    return true;
  }

  private ColumnVector[] vectors(int count) {
    ColumnVector[] vectors = new ColumnVector[plan.output().size()];
    for (int i = 0; i < vectors.length; i++) {
      JoinPlan.Output output = plan.output().get(i);
      ColumnarBatch batch = output.input() == 0 ? first : sides.get(output.input() - 1).batch();
      ColumnVector source =
          batch == null
              ? ConstantVector.ofNulls(output.type(), 1) // no row of it is met
              : batch.column(output.column());
      vectors[i] =
          output.input() == 0 && count == first.numRows()
              ? source
              : new TakenVector(output.type(), source, taken[output.input()]);
    }
    return vectors;
  }
}
