package io.keylake.spark.conditions;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.plans.LogicalNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A condition in SQL on rows as a table stores them, which tasks test. A row for which it is null
 * is not selected.
 *
 * @param bound to the places of the columns
 */
public record RowCondition(Expression bound) implements Serializable {

  /** Tests rows, in one thread. */
  public interface Test {
    boolean holds(InternalRow row);
  }

  /**
   * Reads a condition.
   *
   * @param type of the rows
   */
  public static RowCondition of(String text, StructType type) {
    return of(text, RequiredCondition.parsed(text), type);
  }

  /**
   * Selects rows for which a condition holds, and another one does not.
   *
   * @param where null for all
   * @param failed which says nothing of a row that does not carry its columns; null for none
   * @param leaves the versions of these columns, whose names stored rows have
   */
  public static RowCondition selecting(
      @Nullable String where,
      @Nullable RequiredCondition failed,
      List<String> leaves,
      StructType type) {
    Expression all = where == null ? null : RequiredCondition.parsed(where);
    if (failed != null) {
      Expression fails = new Not(orFalse(failed.sql()));
      for (String leaf : leaves) {
        List<String> path = List.of(KeyedSchema.MERGE_INFO, KeyedSchema.COLUMNS, leaf);
        fails = new And(new IsNotNull(new UnresolvedAttribute(seq(path))), fails);
      }
      all = all == null ? fails : new And(all, fails);
    }
    String text = where != null ? where : failed == null ? "true" : failed.text();
    return of(text, all == null ? Literal$.MODULE$.apply(true) : all, type);
  }

  private static RowCondition of(String text, Expression parsed, StructType type) {
    List<Attribute> columns = new ArrayList<>();
    List<Attribute> shown = new ArrayList<>();
    for (StructField field : type.fields()) {
      Attribute column =
          new AttributeReference(
              field.name(),
              field.dataType(),
              true,
              Metadata.empty(),
              NamedExpression.newExprId(),
              seq(List.of()));
      columns.add(column);
      if (!field.name().startsWith(KeyedSchema.MERGE_INFO + ":")) {
        shown.add(column);
      }
    }
    LogicalPlan plan =
        new Project(seq(List.<NamedExpression>of(named(orFalse(parsed)))), new AnyRow(shown));
    Expression resolved = resolved(text, ClassicSession.active().optimized(plan));
    return new RowCondition(
        BindReferences.bindReference(resolved, package$.MODULE$.AttributeSeq(seq(columns)), false));
  }

  private static Expression orFalse(Expression condition) {
    return new Coalesce(seq(List.of(condition, Literal$.MODULE$.apply(false))));
  }

  private static Alias named(Expression selected) {
    return new Alias(
        selected,
        "selected",
        NamedExpression.newExprId(),
        seq(List.of()),
        Option.empty(),
        seq(List.of()));
  }

  private static Expression resolved(String text, LogicalPlan optimized) {
    if (!(optimized instanceof Project project && project.child() instanceof AnyRow)) {
      throw bad(text, "needs more than one row");
    }
    NamedExpression only = project.projectList().head();
    Expression condition = only instanceof Alias alias ? alias.child() : (Expression) only;
    if (!condition.deterministic()) {
      throw bad(text, "is not the same each time");
    }
    return condition;
  }

  private static KeylakeException bad(String text, String why) {
    return new KeylakeException(
        DEFINITION,
        "the condition %s %s; give a condition on columns of one row, such as 'user_id < 100'"
            .formatted(text, why));
  }

  /** Selects the rows that this one does not. */
  public RowCondition negated() {
    return new RowCondition(new Not(bound));
  }

  public Test test() {
    return Predicate.create(bound)::eval;
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  /** A row of which nothing but its columns is known. */
  public static final class AnyRow extends LogicalNode {
    private final List<Attribute> columns;

    public AnyRow(List<Attribute> columns) {
      this.columns = List.copyOf(columns);
    }

    @Override
    public Seq<Attribute> output() {
      return seq(columns);
    }

    @Override
    protected List<? extends @Nullable Object> parts() {
      return List.of(columns);
    }

    @Override
    protected List<LogicalPlan> inputs() {
      return List.of();
    }

    @Override
    protected LogicalPlan over(List<LogicalPlan> inputs) {
      return this;
    }
  }
}
