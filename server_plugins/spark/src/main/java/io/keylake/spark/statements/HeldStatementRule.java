package io.keylake.spark.statements;

import io.keylake.spark.table.NodeRule;
import java.util.Objects;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.jspecify.annotations.Nullable;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Holds statements that change rows until it is known which table they name. Spark's own rules
 * would make rewrites of files of them as soon as they are resolved, before any rule of ours sees
 * them so. A filter stands between statement and table:
 *
 * <ol>
 *   <li>Until the table is known, its condition is a column that nobody has, so that Spark resolves
 *       nothing of the statement. {@link StatementTargetRule} then takes the filter away from the
 *       statements on tables of others, which Spark plans as it does without us.
 *   <li>On a keyed table it lets all rows through until {@link RowStatementRule} takes it away.
 * </ol>
 */
public final class HeldStatementRule extends NodeRule {
  private static final Expression UNTIL_NAMED =
      UnresolvedAttribute.quoted("_merge_info: the name of the table has to be known first");

  private static final Expression UNTIL_KNOWN =
      UnresolvedAttribute.quoted("_merge_info: which table this is has to be known first");

  /** Each statement that is held is remembered as it was said, with the plan around it. */
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    LogicalPlan held = super.apply(plan);
    if (held != plan) {
      held.foreach(
          new AbstractFunction1<LogicalPlan, BoxedUnit>() {
            @Override
            public BoxedUnit apply(LogicalPlan node) {
              LogicalPlan table = tableOf(node);
              if (table != null && isHeld(table)) {
                OriginalStatement.remember(table, plan);
              }
              return BoxedUnit.UNIT;
            }
          });
    }
    return held;
  }

  @Override
  protected boolean concerns(LogicalPlan node) {
    LogicalPlan table = tableOf(node);
    return table != null && !isHeld(table) && !table.resolved();
  }

  @Override
  protected LogicalPlan changed(LogicalPlan node) {
    LogicalPlan table = Objects.requireNonNull(tableOf(node), "a statement that changes rows");
    return withTable(node, new Filter(isNamed(table) ? UNTIL_KNOWN : UNTIL_NAMED, table));
  }

  /** The table that a statement changes; null for other plans. */
  static @Nullable LogicalPlan tableOf(LogicalPlan node) {
    if (node instanceof UpdateTable update) {
      return update.table();
    }
    if (node instanceof DeleteFromTable delete) {
      return delete.table();
    }
    return node instanceof MergeIntoTable merge ? merge.targetTable() : null;
  }

  static boolean isHeld(LogicalPlan table) {
    return table instanceof Filter filter
        && (filter.condition().equals(Literal.TrueLiteral()) || waitsForTable(table));
  }

  static boolean waitsForTable(LogicalPlan table) {
    return table instanceof Filter filter
        && (filter.condition().equals(UNTIL_KNOWN) || filter.condition().equals(UNTIL_NAMED));
  }

  /** Spark has looked for the table of a statement that waits, and has found none. */
  static boolean isMissing(Filter held) {
    return held.condition().equals(UNTIL_KNOWN) && isNamed(held.child());
  }

  private static boolean isNamed(LogicalPlan table) {
    return table instanceof SubqueryAlias alias
        ? isNamed(alias.child())
        : table instanceof UnresolvedRelation;
  }

  /** The same statement, as Spark would have it without us. */
  static LogicalPlan released(LogicalPlan node) {
    LogicalPlan table = tableOf(node);
    return table instanceof Filter held && isHeld(held) ? withTable(node, held.child()) : node;
  }

  static LogicalPlan withTable(LogicalPlan node, LogicalPlan table) {
    return node.mapChildren(child -> child == tableOf(node) ? table : child);
  }
}
