package io.keylake.spark.statements;

import io.keylake.spark.read.scan.StatementRead.Original;
import io.keylake.spark.table.NodeRule;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.tables.spec.HelperColumn;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.TableProperties;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Turns statements that change rows of a keyed table into writes of rows, so that no data file is
 * written again:
 *
 * <pre>
 *   UPDATE t SET a = ... WHERE c    an update of key and a, of the rows of t for which c is true
 *   DELETE FROM t WHERE c           a delete of the key, of the rows of t for which c is true
 *   MERGE INTO t USING s ON c ...   of each row of t joined to s, what the first action that applies writes
 * </pre>
 *
 * <p>What is written beside that is said by {@link Assignments} and {@link StatementVersions}.
 */
public final class RowStatementRule extends NodeRule {
  /** The column of a plan that holds the newest version of the row that was read. */
  private static final String NEWEST = "_merge_info:newest";

  private static final String INSTEAD_OF_CHANCE =
      "write the keys that it selects to a table first, and select those";

  @Override
  protected boolean concerns(LogicalPlan node) {
    LogicalPlan table = HeldStatementRule.tableOf(node);
    return table != null && table.resolved();
  }

  @Override
  protected LogicalPlan changed(LogicalPlan node) {
    LogicalPlan held = Objects.requireNonNull(HeldStatementRule.tableOf(node), "a statement");
    LogicalPlan released = HeldStatementRule.released(node);
    if (!StatementTarget.isKeyed(Objects.requireNonNull(HeldStatementRule.tableOf(released)))) {
      return released;
    }
    LogicalPlan statement = released.resolved() ? released : Assignments.asWritten(released);
    if (!statement.resolved()) {
      return node;
    }
    if (isNever(statement)) {
      return Conditions.nothing();
    }
    Original original = OriginalStatement.of(held, statement);
    LogicalPlan direct = TargetView.without(statement);
    LogicalPlan table = Objects.requireNonNull(HeldStatementRule.tableOf(direct), "a statement");
    return write(direct, StatementTarget.of(table, isolation(direct), original));
  }

  /** The condition of a statement selects no row of any table. */
  private static boolean isNever(LogicalPlan statement) {
    if (statement instanceof DeleteFromTable delete) {
      return Conditions.isNever(delete.condition());
    }
    return statement instanceof UpdateTable update
        && update.condition().exists(Conditions::isNever);
  }

  /** The write that a statement is. */
  private static LogicalPlan write(LogicalPlan statement, StatementTarget target) {
    if (statement instanceof UpdateTable update) {
      return update(target, update);
    }
    return statement instanceof DeleteFromTable delete
        ? delete(target, delete.condition())
        : new MergeRewrite((MergeIntoTable) statement, target).write();
  }

  /** The property that states how a statement is isolated. */
  private static String isolation(LogicalPlan statement) {
    if (statement instanceof UpdateTable) {
      return TableProperties.UPDATE_ISOLATION_LEVEL;
    }
    return statement instanceof DeleteFromTable
        ? TableProperties.DELETE_ISOLATION_LEVEL
        : TableProperties.MERGE_ISOLATION_LEVEL;
  }

  private static LogicalPlan update(StatementTarget target, UpdateTable update) {
    StatementVersions versions = new StatementVersions(target);
    Map<String, Expression> values =
        Assignments.of(target, CollectionConverters.asJava(update.assignments()));
    if (update.condition().isDefined()) {
      Conditions.checkDeterministic(
          "the condition of UPDATE", update.condition().get(), INSTEAD_OF_CHANCE);
    }
    LogicalPlan rows =
        update.condition().isEmpty() ? target.rows() : target.rowsWhere(update.condition().get());
    List<NamedExpression> key = new ArrayList<>(target.key());
    // In two steps, so that a value that is checked is computed once.
    List<NamedExpression> set = new ArrayList<>(key);
    values.forEach((name, value) -> set.add(Columns.alias(value, name)));
    if (!versions.areGiven()) {
      return target.write(Columns.project(set, rows), WriteOptions.Verb.UPDATE, null);
    }
    set.add(Columns.alias(versions.newest(), NEWEST));
    Project read = Columns.project(set, rows);
    List<Attribute> columns = CollectionConverters.asJava(read.output());
    Attribute newest = columns.get(columns.size() - 1);
    String ordering = target.table().keyed().spec().ordering();
    List<NamedExpression> written = new ArrayList<>(key);
    for (Attribute column : columns.subList(key.size(), columns.size() - 1)) {
      written.add(
          ordering != null && column.name().equals(ordering)
              ? Columns.alias(versions.checked(column, newest, target.key()), ordering)
              : column);
    }
    if (values.containsKey(ordering)) {
      return target.write(Columns.project(written, read), WriteOptions.Verb.UPDATE, null);
    }
    written.add(Columns.alias(versions.atLeast(newest), HelperColumn.VERSION));
    return target.write(
        Columns.project(written, read), WriteOptions.Verb.UPDATE, HelperColumn.VERSION);
  }

  private static LogicalPlan delete(StatementTarget target, Expression condition) {
    Conditions.checkDeterministic("the condition of DELETE", condition, INSTEAD_OF_CHANCE);
    StatementVersions versions = new StatementVersions(target);
    List<NamedExpression> columns = new ArrayList<>(target.key());
    if (versions.areGiven()) {
      columns.add(Columns.alias(versions.atLeast(versions.newest()), HelperColumn.VERSION));
    }
    return target.write(
        Columns.project(columns, target.rowsWhere(condition)),
        WriteOptions.Verb.DELETE,
        versions.areGiven() ? HelperColumn.VERSION : null);
  }
}
