package io.keylake.spark.read.predicates;

import java.util.List;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.ExpressionVisitors;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * A filter of a query over column vectors. It may let a row pass that Spark, who tests it again,
 * does not; never the other way round.
 *
 * <p>Each comparison is a loop over the values of one column, without objects; Iceberg's evaluator
 * asks for an object of each value, and walks the whole expression for each row.
 */
public final class BatchPredicate {
  private final ColumnPredicate test;

  private BatchPredicate(ColumnPredicate test) {
    this.test = test;
  }

  /**
   * @param fields of the columns, in the order of the vectors; flat
   * @param filter unbound, over these columns
   */
  public static BatchPredicate of(List<NestedField> fields, Expression filter) {
    return new BatchPredicate(
        ExpressionVisitors.visit(Expressions.rewriteNot(filter), new ColumnPredicates(fields)));
  }

  /** Says of each row whether it passes. */
  public void test(ColumnVector[] columns, int rows, boolean[] passing) {
    test.test(columns, rows, passing);
  }
}
