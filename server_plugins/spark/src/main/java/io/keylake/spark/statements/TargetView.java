package io.keylake.spark.statements;

import io.keylake.spark.table.KeyedTable;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.UpCast;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * A view over keyed tables, where a statement names a table to change. Rows can be deleted through
 * a view of whole columns and all rows of one; Spark changes rows of views in no other way. Of a
 * view that a catalog keeps, Iceberg leaves the query alone in the plan.
 */
public final class TargetView {
  private final Map<ExprId, Attribute> columns = new HashMap<>();

  private TargetView() {}

  /** A keyed table below a view; null for other plans. */
  static @Nullable DataSourceV2Relation tableBelow(LogicalPlan target) {
    if (target instanceof SubqueryAlias alias) {
      return tableBelow(alias.child());
    }
    if (target.children().isEmpty()) { // a table itself
      return null;
    }
    for (LogicalPlan leaf : CollectionConverters.asJava(target.collectLeaves())) {
      if (leaf instanceof DataSourceV2Relation relation && relation.table() instanceof KeyedTable) {
        return relation;
      }
    }
    return null;
  }

  /** The same statement on the table itself; as it is where it names no view. */
  public static LogicalPlan without(LogicalPlan statement) {
    LogicalPlan target = statement.children().head();
    DataSourceV2Relation relation = tableBelow(target);
    if (relation == null) {
      return statement;
    }
    TargetView view = new TargetView();
    if (!(statement instanceof DeleteFromTable delete)) {
      throw StatementTarget.refused(
          "%s names a view of keyed table %s, and changes tables only; name the table",
          word(statement), relation.table().name());
    }
    if (!view.showsAllRows(target)
        || SubqueryExpression.hasSubquery(delete.condition())
        || !delete
            .condition()
            .references()
            .forall(used -> view.columns.containsKey(used.exprId()))) {
      throw StatementTarget.refused(
          "DELETE names a view of keyed table %s that selects or computes, or its condition has a"
              + " subquery; name the table",
          relation.table().name());
    }
    return delete.copy(relation, view.onTable(delete.condition()));
  }

  private static String word(LogicalPlan statement) {
    return statement instanceof UpdateTable
        ? "UPDATE"
        : statement instanceof MergeIntoTable ? "MERGE" : "the statement";
  }

  /** Nothing but projections to columns stands between a view and its table. */
  private boolean showsAllRows(LogicalPlan plan) {
    if (plan instanceof DataSourceV2Relation relation) {
      CollectionConverters.asJava(relation.output())
          .forEach(column -> columns.put(column.exprId(), column));
      return true;
    }
    boolean passesOn =
        plan instanceof SubqueryAlias || plan instanceof View || plan instanceof Project;
    if (!passesOn || !showsAllRows(plan.children().head())) {
      return false;
    }
    if (plan instanceof Project project) {
      for (NamedExpression each : CollectionConverters.asJava(project.projectList())) {
        Attribute column = columns.get(source(each));
        if (column != null) {
          columns.put(each.exprId(), column);
        }
      }
    }
    return true;
  }

  /** The column that an expression shows as it is; null for one that computes. */
  private static @Nullable ExprId source(Object shown) {
    if (shown instanceof Attribute column) {
      return column.exprId();
    }
    if (shown instanceof Alias alias) {
      return source(alias.child());
    }
    if (shown instanceof UpCast cast) {
      return source(cast.child());
    }
    return shown instanceof Cast cast && cast.dataType().equals(cast.child().dataType())
        ? source(cast.child())
        : null;
  }

  private Expression onTable(Expression condition) {
    return condition.transform(
        new AbstractPartialFunction<Expression, Expression>() {
          @Override
          public boolean isDefinedAt(Expression part) {
            return part instanceof Attribute;
          }

          @Override
          public Expression apply(Expression part) {
            return (Expression) Objects.requireNonNull(columns.get(((Attribute) part).exprId()));
          }
        });
  }
}
