package io.keylake.spark.read.predicates;

import java.util.HashSet;
import java.util.Set;
import org.apache.iceberg.expressions.Expression;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** Comparisons of texts with constants, by their bytes. */
final class TextPredicates {
  private TextPredicates() {}

  /** The test of a comparison; null where the operation is none. */
  static @Nullable ColumnPredicate compared(
      Expression.Operation how, int column, CharSequence than) {
    UTF8String constant = UTF8String.fromString(than.toString());
    return switch (how) {
      case EQ, NOT_EQ -> equal(column, constant, how == Expression.Operation.EQ);
      case LT -> ordered(column, constant, -1, -1);
      case LT_EQ -> ordered(column, constant, -1, 0);
      case GT -> ordered(column, constant, 1, 1);
      case GT_EQ -> ordered(column, constant, 1, 0);
      case STARTS_WITH ->
          (columns, rows, passing) -> {
            ColumnVector values = columns[column];
            for (int i = 0; i < rows; i++) {
              passing[i] = !values.isNullAt(i) && values.getUTF8String(i).startsWith(constant);
            }
          };
      default -> null;
    };
  }

  /**
   * A test in which null is not equal: {@code NOT (a <=> 'x')} comes here as well as {@code a <>
   * 'x'}.
   */
  private static ColumnPredicate equal(int column, UTF8String constant, boolean isEqual) {
    return (columns, rows, passing) -> {
      ColumnVector values = columns[column];
      for (int i = 0; i < rows; i++) {
        passing[i] = (!values.isNullAt(i) && constant.equals(values.getUTF8String(i))) == isEqual;
      }
    };
  }

  /** One of some texts, or none of them, as null is, too. */
  static ColumnPredicate among(int column, Set<? extends CharSequence> texts, boolean in) {
    Set<UTF8String> constants = new HashSet<>();
    texts.forEach(text -> constants.add(UTF8String.fromString(text.toString())));
    return (columns, rows, passing) -> {
      ColumnVector values = columns[column];
      for (int i = 0; i < rows; i++) {
        passing[i] = (!values.isNullAt(i) && constants.contains(values.getUTF8String(i))) == in;
      }
    };
  }

  private static ColumnPredicate ordered(int column, UTF8String constant, int sign, int other) {
    return (columns, rows, passing) -> {
      ColumnVector values = columns[column];
      for (int i = 0; i < rows; i++) {
        int order =
            values.isNullAt(i) ? 2 : Integer.signum(values.getUTF8String(i).compareTo(constant));
        passing[i] = order == sign || order == other;
      }
    };
  }
}
