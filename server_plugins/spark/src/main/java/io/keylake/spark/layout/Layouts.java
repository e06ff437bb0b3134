package io.keylake.spark.layout;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftExistence$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The layouts that rows still have in a plan above their tables.
 *
 * @param byBucket whether the bucket of a table is a column in any case
 */
record Layouts(boolean byBucket) {

  List<KeyLayout> of(LogicalPlan plan) {
    if (plan instanceof DataSourceV2Relation relation) {
      return Stream.ofNullable(KeyLayout.of(relation, byBucket)).toList();
    }
    if (plan instanceof RepartitionByExpression frame) {
      return Stream.ofNullable(BucketedFrameRule.layout(frame)).toList();
    }
    if (plan instanceof Filter filter) {
      return of(filter.child());
    }
    if (plan instanceof Window window) {
      return of(window.child());
    }
    if (plan instanceof Sort sort) {
      return sort.global() ? List.of() : of(sort.child());
    }
    if (plan instanceof Project project) {
      return renamed(of(project.child()), project.projectList());
    }
    if (plan instanceof Aggregate aggregate) {
      List<Expression> columns = CollectionConverters.asJava(aggregate.groupingExpressions());
      return renamed(
          of(aggregate.child()).stream().filter(layout -> layout.isAmong(columns)).toList(),
          aggregate.aggregateExpressions());
    }
    return plan instanceof Join join ? ofJoin(join) : List.of();
  }

  /** Rows that a join has made up, with nulls for a key, lie anywhere. */
  private List<KeyLayout> ofJoin(Join join) {
    JoinType type = join.joinType();
    boolean keepsLeft =
        type.equals(Inner$.MODULE$)
            || type.equals(LeftOuter$.MODULE$)
            || LeftExistence$.MODULE$.unapply(type).isDefined();
    boolean keepsRight = type.equals(Inner$.MODULE$) || type.equals(RightOuter$.MODULE$);
    List<KeyLayout> layouts = new ArrayList<>();
    if (keepsLeft) {
      layouts.addAll(of(join.left()));
    }
    if (keepsRight) {
      layouts.addAll(of(join.right()));
    }
    return layouts;
  }

  private static List<KeyLayout> renamed(
      List<KeyLayout> layouts, Seq<NamedExpression> expressions) {
    Map<ExprId, Attribute> seen = KeyLayoutRule.seen(expressions);
    return layouts.stream().map(layout -> layout.renamed(seen)).filter(Objects::nonNull).toList();
  }
}
