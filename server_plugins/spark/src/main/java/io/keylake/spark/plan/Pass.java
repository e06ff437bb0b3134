package io.keylake.spark.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
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
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * One pass over a plan, from the tables upwards. The bucket of one column is Iceberg's transform,
 * which Spark knows; where a plan compares such a table with something that has the bucket as a
 * column, another pass reads it as a column everywhere.
 */
final class Pass {
  private final boolean byBucket;
  boolean needsColumns;

  Pass(boolean byBucket) {
    this.byBucket = byBucket;
  }

  LogicalPlan visit(LogicalPlan plan) {
    LogicalPlan visited =
        plan.mapChildren(
            new AbstractFunction1<LogicalPlan, LogicalPlan>() {
              @Override
              public LogicalPlan apply(LogicalPlan child) {
                return visit(child);
              }
            });
    if (visited instanceof Join join && join.condition().isDefined()) {
      return joined(join);
    }
    if (visited instanceof Aggregate aggregate) {
      return grouped(aggregate);
    }
    if (visited instanceof RepartitionByExpression frame) {
      return isInPlace(frame) ? frame.child() : frame;
    }
    return visited instanceof Window window ? partitioned(window) : visited;
  }

  /** Whether the rows lie already where they are to be brought. */
  private boolean isInPlace(RepartitionByExpression frame) {
    KeyLayout wanted = BucketedFrameRule.layout(frame);
    return wanted != null
        && layouts(frame.child()).stream()
            .anyMatch(
                layout -> layout.isLike(wanted) && layout.bucketBy().equals(wanted.bucketBy()));
  }

  // Joins

  private LogicalPlan joined(Join join) {
    List<Expression> terms = conjuncts(join.condition().get());
    for (KeyLayout left : layouts(join.left())) {
      for (KeyLayout right : layouts(join.right())) {
        if (left.isLike(right) && compares(terms, left, right)) {
          return joined(join, terms, left, right);
        }
      }
    }
    return join;
  }

  private LogicalPlan joined(Join join, List<Expression> terms, KeyLayout left, KeyLayout right) {
    if ((left.bucket() == null) != (right.bucket() == null)) {
      needsColumns = true;
      return join;
    }
    Expression condition = ordered(terms, left, right).stream().reduce(And::new).orElseThrow();
    Join ordered =
        join.copy(
            with(join.left(), left),
            with(join.right(), right),
            join.joinType(),
            Option.apply(condition),
            join.hint());
    return withOutput(join, ordered);
  }

  /** Whether rows are joined only where all columns are equal that decide where they lie. */
  private boolean compares(List<Expression> terms, KeyLayout left, KeyLayout right) {
    for (int i = 0; i < left.partitionBy().size(); i++) {
      if (!compares(terms, left.partitionBy().get(i), right.partitionBy().get(i), false)) {
        return false;
      }
    }
    for (int i = 0; i < left.bucketBy().size(); i++) {
      if (!compares(terms, left.bucketBy().get(i), right.bucketBy().get(i), true)) {
        return false;
      }
    }
    return true;
  }

  private boolean compares(
      List<Expression> terms, Attribute left, Attribute right, boolean isHashed) {
    for (Expression term : terms) {
      if (term instanceof EqualTo equal) {
        boolean same =
            equal.left().semanticEquals(left) && equal.right().semanticEquals(right)
                || equal.left().semanticEquals(right) && equal.right().semanticEquals(left);
        if (same) {
          return true;
        }
        Expression one = asInt(equal.left());
        Expression other = asInt(equal.right());
        boolean equalAsNumbers =
            one.semanticEquals(left) && other.semanticEquals(right)
                || one.semanticEquals(right) && other.semanticEquals(left);
        if (isHashed && equalAsNumbers) {
          needsColumns = true;
          return byBucket;
        }
      }
    }
    return false;
  }

  /** An int is in the bucket of the long that is equal to it. */
  private static Expression asInt(Expression expression) {
    return expression instanceof Cast cast
            && cast.dataType().equals(DataTypes.LongType)
            && cast.child().dataType().equals(DataTypes.IntegerType)
        ? cast.child()
        : expression;
  }

  /** The terms in the order in which rows lie, the comparison of buckets among them. */
  private static List<Expression> ordered(List<Expression> terms, KeyLayout left, KeyLayout right) {
    KeyLayout sorted = left.key().isEmpty() ? right : left;
    List<Expression> ordered = new ArrayList<>();
    for (Attribute column : sorted.order()) {
      if (column.equals(sorted.bucket())) {
        ordered.add(new EqualTo(left.bucket(), right.bucket()));
      } else {
        terms.stream()
            .filter(term -> !ordered.contains(term) && isEqualTo(term, column))
            .findFirst()
            .ifPresent(ordered::add);
      }
    }
    terms.stream().filter(term -> !ordered.contains(term)).forEach(ordered::add);
    return ordered;
  }

  private static boolean isEqualTo(Expression term, Attribute column) {
    return term instanceof EqualTo equal
        && (asInt(equal.left()).semanticEquals(column)
            || asInt(equal.right()).semanticEquals(column));
  }

  private static List<Expression> conjuncts(Expression condition) {
    if (condition instanceof And and) {
      List<Expression> terms = new ArrayList<>(conjuncts(and.left()));
      terms.addAll(conjuncts(and.right()));
      return terms;
    }
    return List.of(condition);
  }

  // Groupings and windows

  private LogicalPlan grouped(Aggregate aggregate) {
    List<Expression> columns = CollectionConverters.asJava(aggregate.groupingExpressions());
    for (KeyLayout layout : layouts(aggregate.child())) {
      if (layout.bucket() != null && isAmong(layout, columns)) {
        return aggregate.copy(
            sequence(inOrder(layout, columns)),
            aggregate.aggregateExpressions(),
            with(aggregate.child(), layout),
            aggregate.hint());
      }
    }
    return aggregate;
  }

  private LogicalPlan partitioned(Window window) {
    List<Expression> columns = CollectionConverters.asJava(window.partitionSpec());
    for (KeyLayout layout : layouts(window.child())) {
      if (isAmong(layout, columns)) {
        Window ordered =
            window.copy(
                window.windowExpressions(),
                sequence(inOrder(layout, columns)),
                window.orderSpec(),
                with(window.child(), layout),
                window.hint());
        return withOutput(window, ordered);
      }
    }
    return window;
  }

  /** Whether rows that are equal in these columns lie in one partition. */
  private static boolean isAmong(KeyLayout layout, List<Expression> columns) {
    return Stream.concat(layout.partitionBy().stream(), layout.bucketBy().stream())
        .allMatch(column -> columns.stream().anyMatch(column::semanticEquals));
  }

  private static List<Expression> inOrder(KeyLayout layout, List<Expression> columns) {
    List<Expression> ordered = new ArrayList<>();
    for (Attribute column : layout.order()) {
      if (column.equals(layout.bucket()) || columns.stream().anyMatch(column::semanticEquals)) {
        ordered.add(column);
      }
    }
    columns.stream()
        .filter(column -> ordered.stream().noneMatch(column::semanticEquals))
        .forEach(ordered::add);
    return ordered;
  }

  // The layouts that a plan keeps

  private List<KeyLayout> layouts(LogicalPlan plan) {
    if (plan instanceof DataSourceV2Relation relation) {
      return Stream.ofNullable(KeyLayout.of(relation, byBucket)).toList();
    }
    if (plan instanceof RepartitionByExpression frame) {
      return Stream.ofNullable(BucketedFrameRule.layout(frame)).toList();
    }
    if (plan instanceof Filter filter) {
      return layouts(filter.child());
    }
    if (plan instanceof Window window) {
      return layouts(window.child());
    }
    if (plan instanceof Sort sort) {
      return sort.global() ? List.of() : layouts(sort.child());
    }
    if (plan instanceof Project project) {
      return renamed(layouts(project.child()), project.projectList());
    }
    if (plan instanceof Aggregate aggregate) {
      List<Expression> columns = CollectionConverters.asJava(aggregate.groupingExpressions());
      return renamed(
          layouts(aggregate.child()).stream().filter(layout -> isAmong(layout, columns)).toList(),
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
      layouts.addAll(layouts(join.left()));
    }
    if (keepsRight) {
      layouts.addAll(layouts(join.right()));
    }
    return layouts;
  }

  private static List<KeyLayout> renamed(
      List<KeyLayout> layouts, Seq<NamedExpression> expressions) {
    Map<ExprId, Attribute> seen = KeyLayoutRule.seen(expressions);
    return layouts.stream().map(layout -> layout.renamed(seen)).filter(Objects::nonNull).toList();
  }

  // The bucket in the output of a plan

  /** The plan with the bucket of a layout in its output. */
  private LogicalPlan with(LogicalPlan plan, KeyLayout layout) {
    AttributeReference bucket = layout.bucket();
    if (bucket == null || plan.outputSet().contains(bucket)) {
      return plan;
    }
    if (plan instanceof DataSourceV2Relation relation) {
      return relation.copy(
          relation.table(),
          and(relation.output(), bucket),
          relation.catalog(),
          relation.identifier(),
          relation.options(),
          relation.timeTravelSpec());
    }
    if (plan instanceof Project project) {
      return project.copy(and(project.projectList(), bucket), with(project.child(), layout));
    }
    if (plan instanceof Aggregate aggregate) {
      return aggregate.copy(
          aggregate.groupingExpressions(),
          and(aggregate.aggregateExpressions(), bucket),
          with(aggregate.child(), layout),
          aggregate.hint());
    }
    return plan.mapChildren(
        new AbstractFunction1<LogicalPlan, LogicalPlan>() {
          @Override
          public LogicalPlan apply(LogicalPlan child) {
            return layouts(child).stream().anyMatch(below -> bucket.equals(below.bucket()))
                ? with(child, layout)
                : child;
          }
        });
  }

  private static LogicalPlan withOutput(LogicalPlan of, LogicalPlan plan) {
    return plan.output().size() == of.output().size()
        ? plan
        : new Project(
            CollectionConverters.asScala(
                    new ArrayList<NamedExpression>(CollectionConverters.asJava(of.output())))
                .toSeq(),
            plan);
  }

  private static <T> Seq<T> and(Seq<T> columns, T more) {
    List<T> all = new ArrayList<>(CollectionConverters.asJava(columns));
    all.add(more);
    return CollectionConverters.asScala(all).toSeq();
  }

  private static Seq<Expression> sequence(List<Expression> expressions) {
    return CollectionConverters.asScala(expressions).toSeq();
  }
}
