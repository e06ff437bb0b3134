package io.keylake.spark.statements;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;

/** The conditions of statements that change rows. */
public final class Conditions {
  private Conditions() {}

  /**
   * A condition is false, or null, of every row, as it is written: FALSE, 1 = 0, and these with
   * anything else behind AND.
   */
  public static boolean isNever(Expression condition) {
    if (condition instanceof And both) {
      return isNever(both.left()) || isNever(both.right());
    }
    boolean isOfLiterals =
        condition instanceof Literal
            || condition instanceof BinaryComparison comparison
                && comparison.left() instanceof Literal
                && comparison.right() instanceof Literal;
    return isOfLiterals && !Boolean.TRUE.equals(condition.eval(null));
  }

  /** The plan of a statement that changes no row. */
  public static LogicalPlan nothing() {
    return new LocalRelation(Columns.seq(List.of()), Columns.seq(List.of()), false, Option.empty());
  }

  /**
   * Refuses a condition that may select other rows whenever it is looked at.
   *
   * @param what the condition is
   * @param instead what helps
   */
  public static void checkDeterministic(String what, Expression condition, String instead) {
    if (!condition.deterministic()) {
      throw StatementTarget.refused(
          "%s, %s, is not deterministic; %s", what, condition.sql(), instead);
    }
  }
}
