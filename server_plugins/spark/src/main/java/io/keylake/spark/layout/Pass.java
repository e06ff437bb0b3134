package io.keylake.spark.layout;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
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
  private final Layouts layouts;
  boolean needsColumns;

  Pass(Layouts layouts) {
    this.layouts = layouts;
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

  /** The rows lie already where they are to be brought. */
  private boolean isInPlace(RepartitionByExpression frame) {
    KeyLayout wanted = BucketedFrameRule.layout(frame);
    return wanted != null
        && layouts.of(frame.child()).stream()
            .anyMatch(
                layout -> layout.isLike(wanted) && layout.bucketBy().equals(wanted.bucketBy()));
  }

  // Joins

  private LogicalPlan joined(Join join) {
    List<Expression> terms = Comparison.terms(join.condition().get());
    for (KeyLayout left : layouts.of(join.left())) {
      for (KeyLayout right : layouts.of(join.right())) {
        if (!left.isLike(right)) {
          continue;
        }
        Comparison compared = Comparison.of(terms, left, right);
        needsColumns |= compared == Comparison.OF_NUMBERS;
        if (compared == Comparison.OF_COLUMNS
            || compared == Comparison.OF_NUMBERS && layouts.byBucket()) {
          return joined(join, terms, left, right);
        }
      }
    }
    return join;
  }

  private LogicalPlan joined(Join join, List<Expression> terms, KeyLayout left, KeyLayout right) {
    if (left.isColumn() != right.isColumn()) {
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

  /** The terms in the order in which rows lie, the comparison of buckets among them. */
  private static List<Expression> ordered(List<Expression> terms, KeyLayout left, KeyLayout right) {
    KeyLayout sorted = left.key().isEmpty() ? right : left;
    List<Expression> ordered = new ArrayList<>();
    for (Attribute column : sorted.order()) {
      int hidden = sorted.hidden().indexOf(column);
      if (hidden >= 0) {
        ordered.add(new EqualTo(left.hidden().get(hidden), right.hidden().get(hidden)));
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
        && (Comparison.asInt(equal.left()).semanticEquals(column)
            || Comparison.asInt(equal.right()).semanticEquals(column));
  }

  // Groupings and windows

  private LogicalPlan grouped(Aggregate aggregate) {
    List<Expression> columns = CollectionConverters.asJava(aggregate.groupingExpressions());
    for (KeyLayout layout : layouts.of(aggregate.child())) {
      if (layout.isColumn() && layout.isAmong(columns)) {
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
    for (KeyLayout layout : layouts.of(window.child())) {
      if (layout.isAmong(columns)) {
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

  private static List<Expression> inOrder(KeyLayout layout, List<Expression> columns) {
    List<Expression> ordered = new ArrayList<>();
    for (Attribute column : layout.order()) {
      if (layout.hidden().contains(column) || columns.stream().anyMatch(column::semanticEquals)) {
        ordered.add(column);
      }
    }
    columns.stream()
        .filter(column -> ordered.stream().noneMatch(column::semanticEquals))
        .forEach(ordered::add);
    return ordered;
  }

  // The hidden columns in the output of a plan

  /** The plan with the hidden columns of a layout in its output. */
  private LogicalPlan with(LogicalPlan plan, KeyLayout layout) {
    List<AttributeReference> missing =
        layout.hidden().stream().filter(column -> !plan.outputSet().contains(column)).toList();
    if (missing.isEmpty()) {
      return plan;
    }
    if (plan instanceof DataSourceV2Relation relation) {
      return relation.copy(
          relation.table(),
          and(relation.output(), missing),
          relation.catalog(),
          relation.identifier(),
          relation.options(),
          relation.timeTravelSpec());
    }
    if (plan instanceof Project project) {
      return project.copy(and(project.projectList(), missing), with(project.child(), layout));
    }
    if (plan instanceof Aggregate aggregate) {
      return aggregate.copy(
          aggregate.groupingExpressions(),
          and(aggregate.aggregateExpressions(), missing),
          with(aggregate.child(), layout),
          aggregate.hint());
    }
    return plan.mapChildren(
        new AbstractFunction1<LogicalPlan, LogicalPlan>() {
          @Override
          public LogicalPlan apply(LogicalPlan child) {
            return layouts.of(child).stream()
                    .anyMatch(below -> below.hidden().equals(layout.hidden()))
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

  private static <T> Seq<T> and(Seq<T> columns, List<? extends T> more) {
    List<T> all = new ArrayList<>(CollectionConverters.asJava(columns));
    all.addAll(more);
    return CollectionConverters.asScala(all).toSeq();
  }

  private static Seq<Expression> sequence(List<Expression> expressions) {
    return CollectionConverters.asScala(expressions).toSeq();
  }
}
