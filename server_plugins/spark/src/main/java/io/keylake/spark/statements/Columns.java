package io.keylake.spark.statements;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Columns of plans. */
public final class Columns {
  private Columns() {}

  /** A value as a column of a name. */
  public static NamedExpression alias(Expression value, String name) {
    return new Alias(
        value,
        name,
        NamedExpression.newExprId(),
        seq(List.<String>of()),
        Option.empty(),
        seq(List.<String>of()));
  }

  public static Project project(List<NamedExpression> columns, LogicalPlan rows) {
    return new Project(seq(columns), rows);
  }

  /**
   * The columns as a sequence with an index. Spark's projection of local rows asks for each column
   * by its number, and a list would be walked from its head for each value of each row.
   */
  static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toIndexedSeq();
  }
}
