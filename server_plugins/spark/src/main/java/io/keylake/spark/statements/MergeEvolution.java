package io.keylake.spark.statements;

import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.table.KeyedTable;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.schema.SchemaChange;
import io.keylake.tables.schema.WiderSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.DeleteAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertStarAction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeAction;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateStarAction;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * The columns that a MERGE WITH SCHEMA EVOLUTION brings to its table: all of the source where an
 * action takes {@code *}, and those that an action assigns to a column of the same name. They are
 * added in a commit of their own while the statement is planned, whether rows follow or not.
 */
public final class MergeEvolution {
  private final MergeIntoTable merge;

  /** Iceberg's own property of tables that do not want columns from statements. */
  private static final String PROPERTY = "write.spark.auto-schema-evolution.enabled";

  private final boolean caseSensitive = SessionSettings.isCaseSensitive();

  /**
   * @param merge into a keyed table, with a resolved target and source, and unresolved actions
   */
  public MergeEvolution(MergeIntoTable merge) {
    this.merge = merge;
  }

  /** The statement on the table that has the columns, without evolution. */
  public MergeIntoTable evolved() {
    DataSourceV2Relation relation =
        Objects.requireNonNull(
            StatementTarget.relationOf(merge.targetTable()), "a MERGE into a keyed table");
    KeyedTable table = (KeyedTable) relation.table();
    if ("false".equalsIgnoreCase(table.table().properties().get(PROPERTY))) {
      return withActions(
          merge.targetTable(),
          merge.mergeCondition(),
          merge.matchedActions(),
          merge.notMatchedActions());
    }
    table.checkIsNoExperiment("columns that a MERGE adds");
    table.checkIsChangeable();
    List<NestedField> columns = columns();
    SchemaChange.make(table.table(), schema -> WiderSchema.changes(schema, columns, caseSensitive));
    DataSourceV2Relation again =
        DataSourceV2Relation.create(
            loaded(relation),
            relation.catalog(),
            relation.identifier(),
            relation.options(),
            Option.empty());
    List<Attribute> target = List.copyOf(CollectionConverters.asJava(again.output()));
    return withActions(
        StatementTarget.replaced(merge.targetTable(), leaf -> leaf == relation ? again : leaf),
        ofSource(merge.mergeCondition()),
        withoutStars(merge.matchedActions(), target),
        withoutStars(merge.notMatchedActions(), target));
  }

  private MergeIntoTable withActions(
      LogicalPlan target,
      Expression condition,
      Seq<MergeAction> matched,
      Seq<MergeAction> notMatched) {
    return merge.copy(
        target,
        merge.sourceTable(),
        condition,
        matched,
        notMatched,
        merge.notMatchedBySourceActions(),
        false);
  }

  /**
   * A name that only the source has when the statement is made is bound to the source: the table
   * may have a column of that name by the time Spark resolves it.
   */
  private Expression ofSource(Expression expression) {
    return expression.transform(
        new AbstractPartialFunction<Expression, Expression>() {
          @Override
          public boolean isDefinedAt(Expression part) {
            return part instanceof UnresolvedAttribute name
                && found(merge.targetTable(), name) == null
                && found(merge.sourceTable(), name) != null;
          }

          @Override
          public Expression apply(Expression part) {
            return Objects.requireNonNull(found(merge.sourceTable(), (UnresolvedAttribute) part));
          }
        });
  }

  private static @Nullable Expression found(LogicalPlan plan, UnresolvedAttribute name) {
    Option<NamedExpression> found;
    try {
      found = plan.resolve(name.nameParts(), SessionSettings.sameNames());
    } catch (Exception e) { // Scala declares none of those it throws
      if (e instanceof AnalysisException) {
        return null; // a column of the alias' name is a struct, and has no such member
      }
      throw e;
    }
    if (found.isEmpty()) {
      return null;
    }
    return found.get() instanceof Alias alias ? alias.child() : (Expression) found.get();
  }

  /** A star takes the columns of the source; what only the target has, it leaves alone. */
  private Seq<MergeAction> withoutStars(Seq<MergeAction> actions, List<Attribute> target) {
    Seq<Assignment> all = Columns.seq(assignmentsOfSource(target));
    return Columns.seq(
        CollectionConverters.asJava(actions).stream()
            .map(action -> withoutStar(action, all))
            .map(this::ofSource)
            .toList());
  }

  private static MergeAction withoutStar(MergeAction action, Seq<Assignment> all) {
    if (action instanceof UpdateStarAction star) {
      return new UpdateAction(star.condition(), all, true);
    }
    return action instanceof InsertStarAction star
        ? new InsertAction(star.condition(), all)
        : action;
  }

  private MergeAction ofSource(MergeAction action) {
    Option<Expression> condition = action.condition().map(this::ofSource);
    if (action instanceof UpdateAction update) {
      return update.copy(condition, ofSource(update.assignments()), update.fromStar());
    }
    if (action instanceof InsertAction insert) {
      return insert.copy(condition, ofSource(insert.assignments()));
    }
    return action instanceof DeleteAction delete ? delete.copy(condition) : action;
  }

  private Seq<Assignment> ofSource(Seq<Assignment> assignments) {
    return Columns.seq(
        CollectionConverters.asJava(assignments).stream()
            .map(each -> new Assignment(each.key(), ofSource(each.value())))
            .toList());
  }

  private List<Assignment> assignmentsOfSource(List<Attribute> target) {
    List<Assignment> assignments = new ArrayList<>();
    for (Attribute column : CollectionConverters.asJava(merge.sourceTable().output())) {
      target.stream()
          .filter(own -> isNamed(own, column.name()))
          .forEach(own -> assignments.add(new Assignment(own, column)));
    }
    return assignments;
  }

  private static Table loaded(DataSourceV2Relation relation) {
    try {
      return ((TableCatalog) relation.catalog().get()).loadTable(relation.identifier().get());
    } catch (NoSuchTableException e) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "table %s was dropped while the MERGE was planned; nothing was written"
              .formatted(relation.identifier().get()));
    }
  }

  private List<NestedField> columns() {
    List<MergeAction> actions =
        Stream.of(merge.matchedActions(), merge.notMatchedActions())
            .flatMap(each -> CollectionConverters.asJava(each).stream())
            .toList();
    boolean all =
        actions.stream()
            .anyMatch(
                action -> action instanceof UpdateStarAction || action instanceof InsertStarAction);
    List<Assignment> assignments = actions.stream().flatMap(MergeEvolution::assignments).toList();
    StructType taken = new StructType();
    for (Attribute column : CollectionConverters.asJava(merge.sourceTable().output())) {
      if (all || assignments.stream().anyMatch(each -> assigns(each, column.name()))) {
        if (column.dataType() instanceof NullType) {
          throw new KeylakeException(
              SCHEMA_MISMATCH,
              "column '%s' of the source is null in every row, so its type is not known; cast it to one, or leave it out"
                  .formatted(column.name()));
        }
        taken = taken.add(column.name(), column.dataType(), true, column.metadata());
      }
    }
    return SparkSchemaUtil.convert(taken.asNullable()).columns();
  }

  private static Stream<Assignment> assignments(MergeAction action) {
    if (action instanceof UpdateAction update) {
      return CollectionConverters.asJava(update.assignments()).stream();
    }
    return action instanceof InsertAction insert
        ? CollectionConverters.asJava(insert.assignments()).stream()
        : Stream.empty();
  }

  private boolean assigns(Assignment assignment, String column) {
    return isNamed(assignment.key(), column) && isNamed(assignment.value(), column);
  }

  private boolean isNamed(Expression expression, String column) {
    String name = null;
    if (expression instanceof UnresolvedAttribute unresolved) {
      List<String> parts = CollectionConverters.asJava(unresolved.nameParts());
      name = parts.get(parts.size() - 1);
    } else if (expression instanceof Attribute attribute) {
      name = attribute.name();
    }
    return name != null && (caseSensitive ? name.equals(column) : name.equalsIgnoreCase(column));
  }
}
