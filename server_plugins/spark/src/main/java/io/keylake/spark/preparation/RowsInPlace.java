package io.keylake.spark.preparation;

import io.keylake.spark.read.scan.RelationOptions;
import io.keylake.spark.read.scan.ScanTasks;
import io.keylake.spark.table.KeyedTable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Finds the rows that a statement makes of the table's own, one of each, and that lie already where
 * they are to be written: no task has rows of two buckets, and those of a task are in key order.
 *
 * <ol>
 *   <li>Nothing but projections and filters stands between the table and the write. A subquery that
 *       Spark makes a join of may move the rows.
 *   <li>The key is that of the rows that were read.
 *   <li>The rows are read by as many buckets as they are written to: not so while the files of a
 *       table are of fewer.
 * </ol>
 */
final class RowsInPlace {
  private RowsInPlace() {}

  /** The rows of a query lie where they are to be written in a table. */
  static boolean are(LogicalPlan query, KeyedTable target) {
    List<Attribute> key = new ArrayList<>();
    for (String name : target.keyed().spec().key()) {
      key.add(named(query, name));
    }
    LogicalPlan plan = query;
    while (passesOn(plan)) {
      if (plan instanceof Project project) {
        key.replaceAll(column -> below(project, column));
      }
      plan = plan.children().head();
    }
    return plan instanceof DataSourceV2Relation relation
        && relation.table() instanceof KeyedTable read
        && read.statement() != null
        && read.statement() == target.statement()
        && read.buckets(relation.options()) == target.stored().spec().buckets()
        && isKey(relation, target.keyed().spec().key(), key);
  }

  /** The same rows, read so that each task has them in key order. */
  static LogicalPlan inOrder(LogicalPlan query) {
    return query instanceof DataSourceV2Relation relation
        ? RelationOptions.with(relation, RelationOptions.TASKS, ScanTasks.PARTS_IN_KEY_ORDER.name())
        : query.withNewChildren(
            CollectionConverters.asScala(List.of(inOrder(query.children().head()))).toSeq());
  }

  private static boolean passesOn(LogicalPlan plan) {
    return (plan instanceof Project || plan instanceof Filter)
        && plan.expressions()
            .forall(
                part ->
                    !SubqueryExpression.hasCorrelatedSubquery(part)
                        && !SubqueryExpression.hasInOrCorrelatedExistsSubquery(part));
  }

  private static Attribute named(LogicalPlan query, String name) {
    return CollectionConverters.asJava(query.output()).stream()
        .filter(column -> column.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** The attribute of a column below a projection; null where the projection computes it. */
  private static @Nullable Attribute below(Project project, @Nullable Attribute column) {
    for (NamedExpression each : CollectionConverters.asJava(project.projectList())) {
      if (column != null && each.exprId().equals(column.exprId())) {
        if (each instanceof Attribute same) {
          return same;
        }
        return each instanceof Alias alias && alias.child() instanceof Attribute own ? own : null;
      }
    }
    return null;
  }

  private static boolean isKey(
      DataSourceV2Relation relation, List<String> names, List<Attribute> columns) {
    for (int i = 0; i < names.size(); i++) {
      Attribute own = named(relation, names.get(i));
      if (columns.get(i) == null || !own.exprId().equals(columns.get(i).exprId())) {
        return false;
      }
    }
    return true;
  }
}
