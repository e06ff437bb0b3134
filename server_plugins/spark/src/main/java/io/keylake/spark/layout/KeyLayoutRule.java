package io.keylake.spark.layout;

import io.keylake.spark.read.scan.RelationOptions;
import io.keylake.spark.table.KeyedTable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Lets Spark see that keyed tables are stored as joins, groupings and windows by key want them, so
 * that it neither moves nor sorts their rows.
 *
 * <ul>
 *   <li>Spark knows no bucket of several columns. Where such columns are compared, grouped by or
 *       partitioned by, the hidden bucket is so as well: it follows from them, and changes nothing.
 *   <li>A bucket of few is made of whole buckets of many, where the one number divides the other:
 *       the table with more of them is read by as many as the other has.
 *   <li>Columns are brought into the order in which rows lie; a query may name them in any.
 * </ul>
 */
public final class KeyLayoutRule extends Rule<LogicalPlan> {
  /** The relation read by fewer buckets, each made of several of its own. */
  static LogicalPlan by(int buckets, DataSourceV2Relation relation) {
    return RelationOptions.with(relation, RelationOptions.BUCKETS, String.valueOf(buckets));
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan.isStreaming() || !plan.collectLeaves().exists(KeyLayoutRule::isKeyed)) {
      return plan;
    }
    LogicalPlan agreed = new BucketAgreement().visit(plan);
    Pass first = new Pass(new Layouts(false));
    LogicalPlan done = first.visit(agreed);
    return first.needsColumns ? new Pass(new Layouts(true)).visit(agreed) : done;
  }

  private static boolean isKeyed(Object leaf) {
    return leaf instanceof DataSourceV2Relation relation && relation.table() instanceof KeyedTable;
  }

  /** The columns that expressions pass on, each with its attribute above them. */
  static Map<ExprId, Attribute> seen(Seq<NamedExpression> expressions) {
    Map<ExprId, Attribute> seen = new HashMap<>();
    for (NamedExpression named : CollectionConverters.asJava(expressions)) {
      if (named instanceof Attribute column) {
        seen.put(column.exprId(), column);
      } else if (named instanceof Alias alias && alias.child() instanceof Attribute column) {
        seen.putIfAbsent(column.exprId(), alias.toAttribute());
      }
    }
    return seen;
  }
}
