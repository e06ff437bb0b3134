package io.keylake.spark.rules;

import io.keylake.spark.write.CheckedCast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The numbers that the text of a statement itself has, in VALUES or SELECT: 0.1 there is a decimal
 * to Spark, and means the double or float that shows so. Decimals of frames mean themselves.
 */
final class StatedNumbers {
  private StatedNumbers() {}

  /** Whether a column has such numbers alone, and a fraction of the type shows each of them. */
  static boolean areShown(LogicalPlan query, Attribute column, DataType target) {
    if (!(column.dataType() instanceof DecimalType decimal)) {
      return false;
    }
    if (query instanceof SubqueryAlias alias) {
      return areShown(alias.child(), column, target);
    }
    if (query instanceof Project project) {
      return CollectionConverters.asJava(project.projectList()).stream()
          .filter(each -> each.exprId().equals(column.exprId()))
          .allMatch(each -> isShown(project.child(), each, target));
    }
    if (!(query instanceof LocalRelation rows) || rows.origin().sqlText().isEmpty()) {
      return false;
    }
    int at =
        CollectionConverters.asJava(rows.output()).stream()
            .map(Attribute::exprId)
            .toList()
            .indexOf(column.exprId());
    for (InternalRow row : CollectionConverters.asJava(rows.data())) {
      boolean isShown =
          row.isNullAt(at)
              || CheckedCast.isShownBy(
                  row.getDecimal(at, decimal.precision(), decimal.scale()), target);
      if (!isShown) {
        return false;
      }
    }
    return true;
  }

  private static boolean isShown(LogicalPlan below, NamedExpression column, DataType target) {
    Expression value = column instanceof Alias alias ? alias.child() : (Expression) column;
    if (value instanceof Literal literal) {
      return literal.value() instanceof Decimal number && CheckedCast.isShownBy(number, target);
    }
    return value instanceof Attribute attribute && areShown(below, attribute, target);
  }
}
