package io.keylake.spark.read.predicates;

import java.util.Arrays;
import java.util.Set;
import org.apache.iceberg.expressions.Expression;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.jspecify.annotations.Nullable;

/** Comparisons of numbers with constants: each is a range of values. */
final class NumberPredicates {
  private NumberPredicates() {}

  /** Whole numbers, dates and timestamps; null where the operation is no comparison. */
  static @Nullable ColumnPredicate compared(
      Expression.Operation how, int column, long than, boolean isInt) {
    return switch (how) {
      case EQ -> within(column, than, than, isInt);
      case LT ->
          than == Long.MIN_VALUE
              ? ColumnPredicate.always(false)
              : within(column, Long.MIN_VALUE, than - 1, isInt);
      case LT_EQ -> within(column, Long.MIN_VALUE, than, isInt);
      case GT ->
          than == Long.MAX_VALUE
              ? ColumnPredicate.always(false)
              : within(column, than + 1, Long.MAX_VALUE, isInt);
      case GT_EQ -> within(column, than, Long.MAX_VALUE, isInt);
      case NOT_EQ -> notIn(column, new long[] {than}, isInt);
      default -> null;
    };
  }

  /** One of some whole numbers, dates or timestamps, or none of them. */
  static ColumnPredicate among(
      int column, Set<? extends Number> numbers, boolean isInt, boolean in) {
    long[] sorted = numbers.stream().mapToLong(Number::longValue).sorted().toArray();
    return in ? in(column, sorted, isInt) : notIn(column, sorted, isInt);
  }

  private static ColumnPredicate within(int column, long low, long high, boolean isInt) {
    return (columns, rows, passing) -> {
      ColumnVector values = columns[column];
      for (int i = 0; i < rows; i++) {
        passing[i] = false;
        if (!values.isNullAt(i)) {
          long value = isInt ? values.getInt(i) : values.getLong(i);
          passing[i] = value >= low && value <= high;
        }
      }
    };
  }

  private static ColumnPredicate in(int column, long[] sorted, boolean isInt) {
    return (columns, rows, passing) -> {
      ColumnVector values = columns[column];
      for (int i = 0; i < rows; i++) {
        passing[i] = !values.isNullAt(i) && holds(sorted, values, i, isInt);
      }
    };
  }

  /** A test that null passes: {@code NOT (a <=> 5)} comes here as well as {@code a <> 5}. */
  private static ColumnPredicate notIn(int column, long[] sorted, boolean isInt) {
    return (columns, rows, passing) -> {
      ColumnVector values = columns[column];
      for (int i = 0; i < rows; i++) {
        passing[i] = values.isNullAt(i) || !holds(sorted, values, i, isInt);
      }
    };
  }

  private static boolean holds(long[] sorted, ColumnVector values, int row, boolean isInt) {
    return Arrays.binarySearch(sorted, isInt ? values.getInt(row) : values.getLong(row)) >= 0;
  }

  /**
   * Floating-point numbers in the order of Spark, where NaN is the largest and zero has no sign;
   * null where the operation is no comparison.
   */
  static @Nullable ColumnPredicate compared(
      Expression.Operation how, int column, double than, boolean isFloat) {
    double constant = than + 0.0; // of -0.0, 0.0
    boolean least;
    boolean equal;
    boolean most;
    switch (how) {
      case LT, LT_EQ, EQ, GT, GT_EQ -> {
        least = how == Expression.Operation.LT || how == Expression.Operation.LT_EQ;
        most = how == Expression.Operation.GT || how == Expression.Operation.GT_EQ;
        equal = how != Expression.Operation.LT && how != Expression.Operation.GT;
      }
      case NOT_EQ -> {
        return among(column, new double[] {constant}, isFloat, false);
      }
      default -> {
        return null;
      }
    }
    return (columns, rows, passing) -> {
      ColumnVector values = columns[column];
      for (int i = 0; i < rows; i++) {
        if (values.isNullAt(i)) {
          passing[i] = false;
        } else {
          int order = Double.compare(value(values, i, isFloat), constant);
          passing[i] = order < 0 ? least : order > 0 ? most : equal;
        }
      }
    };
  }

  /** One of some floating-point numbers, or none of them, as null is, too. */
  static ColumnPredicate amongDoubles(
      int column, Set<? extends Number> numbers, boolean isFloat, boolean in) {
    double[] constants =
        numbers.stream().mapToDouble(number -> number.doubleValue() + 0.0).toArray();
    Arrays.sort(constants);
    return among(column, constants, isFloat, in);
  }

  private static ColumnPredicate among(int column, double[] sorted, boolean isFloat, boolean in) {
    return (columns, rows, passing) -> {
      ColumnVector values = columns[column];
      for (int i = 0; i < rows; i++) {
        passing[i] =
            (!values.isNullAt(i) && Arrays.binarySearch(sorted, value(values, i, isFloat)) >= 0)
                == in;
      }
    };
  }

  /** The value of a row; that of -0.0 is 0.0. */
  private static double value(ColumnVector values, int row, boolean isFloat) {
    return (isFloat ? values.getFloat(row) : values.getDouble(row)) + 0.0;
  }
}
