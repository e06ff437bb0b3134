package io.keylake.spark.plan;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
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
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Lets Spark see that keyed tables are stored as joins, groupings and windows by key want them, so
 * that it neither moves nor sorts their rows.
 *
 * <ul>
 *   <li>Spark knows no bucket of several columns. Where such columns are compared, grouped by or
 *       partitioned by, the hidden bucket is so as well: it follows from them, and changes nothing.
 *   <li>Columns are brought into the order in which rows lie; a query may name them in any.
 * </ul>
 */
public final class KeyLayoutRule extends Rule<LogicalPlan> {

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.isStreaming() ? plan : visit(plan);
  }

  private LogicalPlan visit(LogicalPlan plan) {
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
    return visited instanceof Window window ? partitioned(window) : visited;
  }

  // Joins

  private static LogicalPlan joined(Join join) {
    List<Expression> terms = conjuncts(join.condition().get());
    for (KeyLayout left : layouts(join.left())) {
      for (KeyLayout right : layouts(join.right())) {
        if (left.isLike(right)) {
          List<Expression> ordered = ordered(terms, left, right);
          if (ordered != null) {
            return withCondition(join, left, right, ordered);
          }
        }
      }
    }
    return join;
  }

  /**
   * The terms of a condition in the order in which the rows of both sides lie, the comparison of
   * buckets among them; null where the rows that it compares may lie anywhere.
   */
  private static List<Expression> ordered(List<Expression> terms, KeyLayout left, KeyLayout right) {
    Map<ExprId, Expression> comparing = new HashMap<>();
    if (!compares(terms, left.partitionBy(), right.partitionBy(), comparing)
        || !compares(terms, left.bucketBy(), right.bucketBy(), comparing)) {
      return null;
    }
    compares(terms, left.key(), right.key(), comparing);
    if (left.bucket() != null) {
      comparing.put(left.bucket().exprId(), new EqualTo(left.bucket(), right.bucket()));
    }
    List<Expression> ordered = new ArrayList<>();
    for (Attribute column : left.order()) {
      Expression term = comparing.remove(column.exprId());
      if (term != null) {
        ordered.add(term);
      }
    }
    ordered.addAll(comparing.values());
    terms.stream().filter(term -> !ordered.contains(term)).forEach(ordered::add);
    return ordered;
  }

  /** Whether each column of the one side is compared with that of the other; finds the terms. */
  private static boolean compares(
      List<Expression> terms,
      List<Attribute> left,
      List<Attribute> right,
      Map<ExprId, Expression> found) {
    boolean all = true;
    for (int i = 0; i < Math.min(left.size(), right.size()); i++) {
      Expression term = comparison(terms, left.get(i), right.get(i));
      if (term == null) {
        all = false;
      } else {
        found.putIfAbsent(left.get(i).exprId(), term);
      }
    }
    return all;
  }

  private static Expression comparison(List<Expression> terms, Attribute left, Attribute right) {
    if (left == null || right == null) {
      return null;
    }
    for (Expression term : terms) {
      if (term instanceof EqualTo equal
          && (equal.left().semanticEquals(left) && equal.right().semanticEquals(right)
              || equal.left().semanticEquals(right) && equal.right().semanticEquals(left))) {
        return term;
      }
    }
    return null;
  }

  private static List<Expression> conjuncts(Expression condition) {
    if (condition instanceof And and) {
      List<Expression> terms = new ArrayList<>(conjuncts(and.left()));
      terms.addAll(conjuncts(and.right()));
      return terms;
    }
    return List.of(condition);
  }

  private static LogicalPlan withCondition(
      Join join, KeyLayout left, KeyLayout right, List<Expression> terms) {
    Expression condition = terms.stream().reduce(And::new).orElseThrow();
    Join ordered =
        join.copy(
            with(join.left(), left),
            with(join.right(), right),
            join.joinType(),
            Option.apply(condition),
            join.hint());
    return withOutput(join, ordered);
  }

  // Groupings and windows

  private static LogicalPlan grouped(Aggregate aggregate) {
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

  private static LogicalPlan partitioned(Window window) {
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

  private static List<KeyLayout> layouts(LogicalPlan plan) {
    if (plan instanceof DataSourceV2Relation relation) {
      return Stream.ofNullable(KeyLayout.of(relation)).toList();
    }
    if (plan instanceof Filter filter) {
      return layouts(filter.child());
    }
    if (plan instanceof Window window) {
      return layouts(window.child());
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
  private static List<KeyLayout> ofJoin(Join join) {
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
    Map<ExprId, Attribute> seen = new HashMap<>();
    for (NamedExpression named : CollectionConverters.asJava(expressions)) {
      if (named instanceof Attribute column) {
        seen.put(column.exprId(), column);
      } else if (named instanceof Alias alias && alias.child() instanceof Attribute column) {
        seen.putIfAbsent(column.exprId(), alias.toAttribute());
      }
    }
    return layouts.stream().map(layout -> layout.renamed(seen)).filter(Objects::nonNull).toList();
  }

  // The hidden bucket in the output of a plan

  /** The plan with the bucket of a layout in its output. */
  private static LogicalPlan with(LogicalPlan plan, KeyLayout layout) {
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
            return layouts(child).stream().anyMatch(below -> bucket.semanticEquals(below.bucket()))
                ? with(child, layout)
                : child;
          }
        });
  }

  private static LogicalPlan withOutput(LogicalPlan of, LogicalPlan plan) {
    return plan.output().size() == of.output().size()
        ? plan
        : new Project(CollectionConverters.asScala(named(of.output())).toSeq(), plan);
  }

  private static List<NamedExpression> named(Seq<Attribute> columns) {
    return new ArrayList<>(CollectionConverters.asJava(columns));
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
