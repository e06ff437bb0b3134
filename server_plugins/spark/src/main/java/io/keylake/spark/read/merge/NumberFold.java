package io.keylake.spark.read.merge;

import io.keylake.merge.Decisions;
import io.keylake.spark.vectors.BuiltVector;
import io.keylake.tables.spec.Reducer;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.jspecify.annotations.Nullable;

/**
 * Combines the contributions to one row where they are plain numbers and so is what comes out:
 * without an object, and without the care that rare rows need. Those it leaves to whoever asks.
 */
enum NumberFold {
  /** The sum of longs; overflow is left. */
  LONG_SUM {
    @Override
    boolean fold(ColumnVector[] sources, int[] places, int from, int to, BuiltVector out) {
      long sum = 0;
      for (int at = from; at < to; at++) {
        long value = number(sources, places[at]);
        long next = sum + value;
        if (((sum ^ next) & (value ^ next)) < 0) {
          return false;
        }
        sum = next;
      }
      return out.addNumber(sum);
    }
  },
  /** The sum of doubles that is exact; one that has to be rounded is left. */
  DOUBLE_SUM {
    @Override
    boolean fold(ColumnVector[] sources, int[] places, int from, int to, BuiltVector out) {
      double sum = floating(sources, places[from]);
      for (int at = from + 1; at < to; at++) {
        double value = floating(sources, places[at]);
        double next = sum + value;
        double added = next - sum;
        double error = (sum - (next - added)) + (value - added);
        if (error != 0) { // also where it is no number, as in infinite sums
          return false;
        }
        sum = next;
      }
      return out.addNumber(Double.doubleToRawLongBits(sum));
    }
  },
  SMALLEST {
    @Override
    boolean fold(ColumnVector[] sources, int[] places, int from, int to, BuiltVector out) {
      long smallest = Long.MAX_VALUE;
      for (int at = from; at < to; at++) {
        smallest = Math.min(smallest, number(sources, places[at]));
      }
      return out.addNumber(smallest);
    }
  },
  LARGEST {
    @Override
    boolean fold(ColumnVector[] sources, int[] places, int from, int to, BuiltVector out) {
      long largest = Long.MIN_VALUE;
      for (int at = from; at < to; at++) {
        largest = Math.max(largest, number(sources, places[at]));
      }
      return out.addNumber(largest);
    }
  };

  /** The fold of a reducer on a type; null where numbers are not all there is to it. */
  static @Nullable NumberFold of(Reducer reducer, DataType type) {
    boolean isLong =
        type instanceof LongType
            || type instanceof TimestampType
            || type instanceof TimestampNTZType;
    return switch (reducer.kind()) {
      case SUM ->
          type instanceof LongType ? LONG_SUM : type instanceof DoubleType ? DOUBLE_SUM : null;
      case COUNT -> LONG_SUM;
      case MIN -> isLong ? SMALLEST : null;
      case MAX -> isLong ? LARGEST : null;
      default -> null;
    };
  }

  /**
   * Adds the combined value to the column; false, and nothing is added, where that takes more care.
   *
   * @param places of the contributions, at least one, none of them null
   */
  abstract boolean fold(ColumnVector[] sources, int[] places, int from, int to, BuiltVector out);

  private static long number(ColumnVector[] sources, int place) {
    return sources[Decisions.run(place)].getLong(Decisions.row(place));
  }

  private static double floating(ColumnVector[] sources, int place) {
    return sources[Decisions.run(place)].getDouble(Decisions.row(place));
  }
}
