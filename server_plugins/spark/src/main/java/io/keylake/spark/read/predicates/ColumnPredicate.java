package io.keylake.spark.read.predicates;

import java.util.Arrays;
import org.apache.spark.sql.vectorized.ColumnVector;

/** A part of a filter, asked of the rows of a batch. A comparison with null does not pass. */
@FunctionalInterface
interface ColumnPredicate {
  /** Says of each row whether it passes. */
  void test(ColumnVector[] columns, int rows, boolean[] passing);

  /** The same of every row. */
  static ColumnPredicate always(boolean passes) {
    return (columns, rows, passing) -> Arrays.fill(passing, 0, rows, passes);
  }

  /** The predicate that a value is null, or is not. */
  static ColumnPredicate isNull(int column, boolean isNull) {
    return (columns, rows, passing) -> {
      ColumnVector values = columns[column];
      for (int i = 0; i < rows; i++) {
        passing[i] = values.isNullAt(i) == isNull;
      }
    };
  }

  /** Both of two tests, or one of them. */
  static ColumnPredicate joined(ColumnPredicate left, ColumnPredicate right, boolean both) {
    return (columns, rows, passing) -> {
      left.test(columns, rows, passing);
      boolean[] second = new boolean[rows];
      right.test(columns, rows, second);
      for (int i = 0; i < rows; i++) {
        passing[i] = both ? passing[i] & second[i] : passing[i] | second[i];
      }
    };
  }
}
