package io.keylake.spark.rules;

import io.keylake.spark.statements.MergeEvolution;
import io.keylake.spark.statements.StatementTarget;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;

/**
 * Lets a MERGE WITH SCHEMA EVOLUTION go on once both of its tables are known: a keyed one gets the
 * columns that it lacks, and the statement is an ordinary MERGE from then on. Those of other tables
 * go on as Spark has them.
 */
public final class MergeEvolutionRule extends NodeRule {

  @Override
  boolean concerns(LogicalPlan node) {
    return node instanceof MergeIntoTable merge
        && HeldStatementRule.waitsForColumns(merge.targetTable())
        && ((Filter) merge.targetTable()).child().resolved()
        && merge.sourceTable().resolved();
  }

  @Override
  LogicalPlan changed(LogicalPlan node) {
    MergeIntoTable merge = (MergeIntoTable) HeldStatementRule.released(node);
    if (!StatementTarget.isKeyed(merge.targetTable())) {
      return merge;
    }
    MergeIntoTable evolved = new MergeEvolution(merge).evolved();
    Filter held = new Filter(Literal.TrueLiteral(), evolved.targetTable());
    held.copyTagsFrom(((MergeIntoTable) node).targetTable());
    return HeldStatementRule.withTable(evolved, held);
  }
}
