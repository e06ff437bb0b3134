package io.keylake.spark.layout;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Has all tables of a join read by the same number of buckets, where the numbers divide each other:
 * the least of them. It comes before buckets are compared, since a later join may want still fewer.
 */
final class BucketAgreement {
  private final Layouts layouts = new Layouts(false);

  LogicalPlan visit(LogicalPlan plan) {
    LogicalPlan visited =
        plan.mapChildren(
            new AbstractFunction1<LogicalPlan, LogicalPlan>() {
              @Override
              public LogicalPlan apply(LogicalPlan child) {
                return visit(child);
              }
            });
    return visited instanceof Join join && join.condition().isDefined() ? agreed(join) : visited;
  }

  private LogicalPlan agreed(Join join) {
    List<Expression> terms = Comparison.terms(join.condition().get());
    for (KeyLayout left : layouts.of(join.left())) {
      for (KeyLayout right : layouts.of(join.right())) {
        Integer buckets = left.commonBuckets(right);
        if (buckets != null && Comparison.of(terms, left, right) != Comparison.NONE) {
          LogicalPlan one = by(buckets, join.left());
          LogicalPlan other = by(buckets, join.right());
          return one == null || other == null
              ? join
              : join.copy(one, other, join.joinType(), join.condition(), join.hint());
        }
      }
    }
    return join;
  }

  /** The plan with all of its tables read by so many buckets; null where one cannot be. */
  private @Nullable LogicalPlan by(int buckets, LogicalPlan plan) {
    for (KeyLayout layout : layouts.of(plan)) {
      if (layout.hashing().groups() != null || layout.hashing().buckets() % buckets != 0) {
        return null;
      }
    }
    if (plan instanceof RepartitionByExpression frame) {
      KeyLayout layout = BucketedFrameRule.layout(frame);
      return layout == null || layout.hashing().buckets() == buckets
          ? plan
          : BucketedFrameRule.by(buckets, frame, layout);
    }
    if (plan instanceof DataSourceV2Relation relation) {
      KeyLayout layout = KeyLayout.of(relation, false);
      return layout == null || layout.hashing().buckets() == buckets
          ? plan
          : KeyLayoutRule.by(buckets, relation);
    }
    List<LogicalPlan> children = new ArrayList<>();
    for (LogicalPlan child : CollectionConverters.asJava(plan.children())) {
      LogicalPlan changed = layouts.of(child).isEmpty() ? child : by(buckets, child);
      if (changed == null) {
        return null;
      }
      children.add(changed);
    }
    return plan.withNewChildren(CollectionConverters.asScala(children).toSeq());
  }
}
