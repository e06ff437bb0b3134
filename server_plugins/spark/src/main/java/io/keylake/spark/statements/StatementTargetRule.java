package io.keylake.spark.statements;

import io.keylake.spark.table.NodeRule;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import scala.Option;

/**
 * Lets a statement that changes rows go on once its table is known:
 *
 * <ol>
 *   <li>A statement on a table of others, or on none, is as it was said, before Spark has resolved
 *       anything else of it: its plan and its answer are those that it has without us.
 *   <li>A statement on a keyed table is resolved by Spark and then written by {@link
 *       RowStatementRule}.
 *   <li>A MERGE WITH SCHEMA EVOLUTION into a keyed table also waits for its source. The table then
 *       gets the columns that it lacks, and the statement is an ordinary MERGE from then on. If
 *       Spark cannot resolve the source, it says so of the statement as it was said.
 * </ol>
 */
public final class StatementTargetRule extends NodeRule {
  /** The source of a statement after the last pass. */
  private static final TreeNodeTag<LogicalPlan> SOURCE = new TreeNodeTag<>("keylake.source");

  @Override
  protected boolean concerns(LogicalPlan node) {
    LogicalPlan table = HeldStatementRule.tableOf(node);
    return table != null
        && HeldStatementRule.waitsForTable(table)
        && (((Filter) table).child().resolved() || HeldStatementRule.isMissing((Filter) table));
  }

  @Override
  protected LogicalPlan changed(LogicalPlan node) {
    LogicalPlan said = HeldStatementRule.released(node);
    LogicalPlan table = HeldStatementRule.tableOf(said);
    if (table == null || !StatementTarget.isKeyed(table)) {
      return said;
    }
    if (said instanceof MergeIntoTable merge && merge.withSchemaEvolution()) {
      if (!merge.sourceTable().resolved()) {
        return isGivenUp(merge.sourceTable(), table(node)) ? said : node;
      }
      MergeIntoTable direct = (MergeIntoTable) TargetView.without(merge);
      return held(new MergeEvolution(direct).evolved(), node);
    }
    return held(said, node);
  }

  private static LogicalPlan table(LogicalPlan node) {
    return Objects.requireNonNull(HeldStatementRule.tableOf(node), "a statement");
  }

  /**
   * A pass of the analyzer left an unresolved source as it was. A query that the statement names
   * before itself is resolved elsewhere, and its mention waits for it.
   */
  private static boolean isGivenUp(LogicalPlan source, LogicalPlan held) {
    if (source.exists(StatementTargetRule::isNamedBefore)) {
      return false;
    }
    Option<LogicalPlan> before = held.getTagValue(SOURCE);
    held.setTagValue(SOURCE, source);
    return before.isDefined() && before.get().fastEquals(source);
  }

  private static boolean isNamedBefore(LogicalPlan node) {
    return node instanceof CTERelationRef;
  }

  /** The statement with a filter that lets all rows through, and has the tags of the one before. */
  private static LogicalPlan held(LogicalPlan statement, LogicalPlan before) {
    Filter held = new Filter(Literal.TrueLiteral(), HeldStatementRule.tableOf(statement));
    held.copyTagsFrom(HeldStatementRule.tableOf(before));
    return HeldStatementRule.withTable(statement, held);
  }
}
