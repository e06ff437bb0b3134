package io.keylake.spark.layout;

import io.keylake.spark.read.scan.RelationOptions;
import io.keylake.spark.read.scan.ScanTasks;
import io.keylake.spark.table.KeyedTable;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.ReturnAnswer;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Finds the scans of keyed tables whose partitioning and order nothing above can use, and lets them
 * cut their buckets into more tasks.
 *
 * <p>What may use them: a join, a grouping, a window, a distinct on key columns; a sort by one; and
 * whatever this rule does not know. It is on the safe side either way: a scan that is spread says
 * so, and Spark then shuffles or sorts where it must.
 */
public final class PlainScanRule extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return visit(plan, isUnknown(plan));
  }

  private LogicalPlan visit(LogicalPlan plan, boolean isUsed) {
    if (plan instanceof DataSourceV2Relation relation) {
      boolean isPlain = !isUsed && !relation.options().containsKey(RelationOptions.TASKS);
      return isPlain && relation.table() instanceof KeyedTable
          ? RelationOptions.with(relation, RelationOptions.TASKS, ScanTasks.PARTS.name())
          : plan;
    }
    boolean usesBelow = isUsedBelow(plan, isUsed);
    return plan.mapChildren(
        new AbstractFunction1<LogicalPlan, LogicalPlan>() {
          @Override
          public LogicalPlan apply(LogicalPlan child) {
            return visit(child, usesBelow);
          }
        });
  }

  private static boolean isUsedBelow(LogicalPlan plan, boolean isUsed) {
    if (plan instanceof RepartitionOperation repartition) {
      return isUsed && !repartition.shuffle();
    }
    if (plan instanceof Aggregate aggregate) {
      return aggregate.groupingExpressions().isEmpty()
          ? countsDistinct(aggregate)
          : mayUse(aggregate.groupingExpressions(), plan) || countsDistinct(aggregate);
    }
    if (plan instanceof Sort sort) {
      Expression first = sort.order().head();
      return isUsed || mayUse(CollectionConverters.asScala(java.util.List.of(first)).toSeq(), plan);
    }
    if (plan instanceof Filter filter) {
      return isUsed || SubqueryExpression.hasInOrCorrelatedExistsSubquery(filter.condition());
    }
    return isUsed || isUnknown(plan);
  }

  private static boolean isUnknown(LogicalPlan plan) {
    return !(plan instanceof Project
        || plan instanceof Filter
        || plan instanceof GlobalLimit
        || plan instanceof LocalLimit
        || plan instanceof ReturnAnswer
        || plan instanceof Union
        || plan instanceof V2WriteCommand
        || plan instanceof Aggregate
        || plan instanceof Sort
        || plan instanceof RepartitionOperation
        || plan instanceof DataSourceV2Relation);
  }

  /** Spark groups by what is counted first. */
  private static boolean countsDistinct(Aggregate aggregate) {
    return aggregate
        .aggregateExpressions()
        .exists(
            named ->
                ((Expression) named)
                    .find(part -> part instanceof AggregateExpression of && of.isDistinct())
                    .isDefined());
  }

  private static boolean isValue(KeyedTable table, String column) {
    return table.keyed().values().stream().anyMatch(value -> value.name().equals(column));
  }

  /** The expressions may be the columns that a keyed table below is partitioned or ordered by. */
  private static boolean mayUse(Seq<? extends Expression> expressions, LogicalPlan above) {
    Set<Long> values = new HashSet<>();
    for (LogicalPlan leaf : CollectionConverters.asJava(above.collectLeaves())) {
      if (leaf instanceof DataSourceV2Relation relation
          && relation.table() instanceof KeyedTable table) {
        for (AttributeReference column : CollectionConverters.asJava(relation.output())) {
          if (isValue(table, column.name())) {
            values.add(column.exprId().id());
          }
        }
      }
    }
    return expressions.exists(
        expression ->
            expression.references().isEmpty()
                || expression
                    .references()
                    .exists(column -> !values.contains(column.exprId().id())));
  }
}
