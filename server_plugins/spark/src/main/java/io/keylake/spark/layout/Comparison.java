package io.keylake.spark.layout;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataTypes;

/**
 * The comparison, in the condition of a join, of the columns that decide where the rows of two
 * sides lie.
 */
public enum Comparison {
  /** Some of them are not compared: rows are joined that may lie anywhere. */
  NONE,
  OF_COLUMNS,
  /**
   * All are compared, ints with longs among them, which are in the same buckets, though Spark sees
   * a cast.
   */
  OF_NUMBERS;

  /**
   * @param right lies by as many columns as the other side
   */
  static Comparison of(List<Expression> terms, KeyLayout left, KeyLayout right) {
    Comparison all = OF_COLUMNS;
    for (int i = 0; i < left.partitionBy().size(); i++) {
      if (of(terms, left.partitionBy().get(i), right.partitionBy().get(i)) != OF_COLUMNS) {
        return NONE;
      }
    }
    for (int i = 0; i < left.bucketBy().size(); i++) {
      Comparison one = of(terms, left.bucketBy().get(i), right.bucketBy().get(i));
      if (one == NONE) {
        return NONE;
      }
      all = one == OF_NUMBERS ? one : all;
    }
    return all;
  }

  private static Comparison of(List<Expression> terms, Attribute left, Attribute right) {
    for (Expression term : terms) {
      if (term instanceof EqualTo equal) {
        if (areEqual(equal.left(), equal.right(), left, right)) {
          return OF_COLUMNS;
        }
        if (areEqual(asInt(equal.left()), asInt(equal.right()), left, right)) {
          return OF_NUMBERS;
        }
      }
    }
    return NONE;
  }

  private static boolean areEqual(
      Expression one, Expression other, Attribute left, Attribute right) {
    return one.semanticEquals(left) && other.semanticEquals(right)
        || one.semanticEquals(right) && other.semanticEquals(left);
  }

  /** An int is in the bucket of the long that is equal to it. */
  static Expression asInt(Expression expression) {
    return expression instanceof Cast cast
            && cast.dataType().equals(DataTypes.LongType)
            && cast.child().dataType().equals(DataTypes.IntegerType)
        ? cast.child()
        : expression;
  }

  /** The terms of a condition that all have to hold. */
  public static List<Expression> terms(Expression condition) {
    if (condition instanceof And and) {
      List<Expression> terms = new ArrayList<>(terms(and.left()));
      terms.addAll(terms(and.right()));
      return terms;
    }
    return List.of(condition);
  }
}
