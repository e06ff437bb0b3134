package io.keylake.spark.parquet;

import io.keylake.spark.engine.Portion;
import java.util.PrimitiveIterator;
import org.jspecify.annotations.Nullable;

/** The numbers in their row group of the rows of a batch, one batch of a portion after another. */
final class PortionRows {
  private final Portion portion;
  private final boolean isWhole;
  private PrimitiveIterator.@Nullable OfLong each;
  private long[] numbers = {};
  private int before;
  private int read;
  private int known;
  private long next = -1;

  /**
   * @param isWhole whether all rows of the row group are decoded, of which those of the portion are
   *     taken
   */
  PortionRows(Portion portion, boolean isWhole) {
    this.portion = portion;
    this.isWhole = isWhole;
  }

  /** Says that the next batch has been decoded. */
  void advance(int decoded) {
    before = read;
    read += decoded;
  }

  /**
   * Takes the rows of the batch that belong to the portion, of a whole row group.
   *
   * @param taken gets their numbers in the batch
   * @return how many there are
   */
  int take(int[] taken) {
    PrimitiveIterator.OfLong rows = each();
    room(read - before);
    int count = 0;
    while (true) {
      if (next < before) {
        if (!rows.hasNext()) {
          return count;
        }
        next = rows.nextLong();
      }
      if (next >= read) {
        return count;
      }
      numbers[count] = next;
      taken[count++] = (int) next - before;
      next = -1;
    }
  }

  /** The first row of the batch, where the others follow it without a gap; -1 where they do not. */
  long stretch() {
    return !isWhole && portion.isStretch() ? portion.firstRow() + before : -1;
  }

  /** The rows of the batch, and maybe some more numbers. */
  long[] numbers() {
    if (!isWhole && known < read) {
      room(read - before);
      PrimitiveIterator.OfLong rows = each();
      for (; known < read; known++) {
        long row = rows.nextLong();
        if (known >= before) {
          numbers[known - before] = row;
        }
      }
    }
    return numbers;
  }

  private PrimitiveIterator.OfLong each() {
    PrimitiveIterator.OfLong rows = each;
    if (rows == null) {
      rows = portion.rows();
      each = rows;
    }
    return rows;
  }

  private void room(int rows) {
    if (numbers.length < rows) {
      numbers = new long[rows];
    }
  }
}
