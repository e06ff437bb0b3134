package io.keylake.spark.preparation;

import io.keylake.spark.reducers.partial.CombinedRows;
import io.keylake.spark.statements.MergeRewrite;
import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.write.DriverWrite;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Says how the rows of a write to a keyed table get to their tasks:
 *
 * <ol>
 *   <li>Rows that lie where they belong already stay there.
 *   <li>A few thousand that came with the statement are written by the driver, or by one task.
 *   <li>Those of a MERGE that was joined bucket by bucket need no shuffle, as Spark sees itself.
 *   <li>All others are spread over tasks of about one size, whatever is hot.
 * </ol>
 */
public final class SpreadRule extends Rule<LogicalPlan> {
  private static final int FEW = 10_000;

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!(plan instanceof V2WriteCommand write
        && write.table() instanceof DataSourceV2Relation relation
        && relation.table() instanceof KeyedTable table
        && table.rows() == Rows.PREPARED)) {
      return plan;
    }
    LogicalPlan query = write.query();
    if (RowsInPlace.are(query, table)) {
      return taking(Rows.IN_PLACE, write, RowsInPlace.inOrder(query));
    }
    if (isOfDriver(query, table)) {
      return taking(Rows.BY_DRIVER, write, query);
    }
    if (areFew(query)) {
      return taking(Rows.IN_ONE_TASK, write, new Repartition(1, false, query));
    }
    LogicalPlan combined =
        KeyedWriteRule.said(write, relation).mayCombineRows()
            ? CombinedRows.of(query, table.stored())
            : query;
    RowPlace place = RowPlace.of(query, table.stored());
    Project numbered = place.numbered(combined);
    return areInBuckets(query)
        ? taking(Rows.BY_BUCKET, write, numbered)
        : taking(Rows.SPREAD, write, place.spread(numbered));
  }

  private static LogicalPlan taking(Rows rows, V2WriteCommand write, LogicalPlan query) {
    DataSourceV2Relation relation = (DataSourceV2Relation) write.table();
    KeyedTable table = (KeyedTable) relation.table();
    return (LogicalPlan)
        write.withNewTable(table.taking(rows).inPlaceOf(relation)).withNewQuery(query);
  }

  private static boolean isOfDriver(LogicalPlan query, KeyedTable table) {
    return query instanceof LocalRelation local
        && !local.isStreaming()
        && table.statement() == null
        && DriverWrite.takes(
            CollectionConverters.asJava(local.data()), local.schema(), table.stored());
  }

  /** Rows that came with the statement, so that their number is known, and not worth a shuffle. */
  private static boolean areFew(LogicalPlan query) {
    LogicalPlan rows = query;
    while (rows instanceof Project || rows instanceof Filter) {
      rows = rows.children().head();
    }
    return rows instanceof LocalRelation local && local.data().size() <= FEW;
  }

  private static boolean areInBuckets(LogicalPlan query) {
    LogicalPlan rows = query;
    while (rows instanceof Project project) {
      rows = project.child();
    }
    return rows instanceof MergeRows merge && MergeRewrite.isByBucket(merge.output());
  }
}
