package io.keylake.spark.rules;

import io.keylake.spark.combine.CombinedRows;
import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.spark.write.WriteOptions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource;

/**
 * Combines rows of each batch of a streaming query before they are moved, and numbers their places,
 * as {@link KeyRangeRule} does for other writes.
 */
public final class CombineBatchRule extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!(plan instanceof WriteToMicroBatchDataSource write
        && write.table() instanceof KeyedTable table
        && table.rows() == Rows.PREPARED
        && !RowPlace.isNumbered(write.query()))) {
      return plan;
    }
    WriteOptions options = StreamWriteRule.said(write);
    LogicalPlan combined = CombinedRows.of(write.query(), table.stored(), options);
    return write.copy(
        write.relation(),
        write.table(),
        RowPlace.of(combined, table.stored()).numbered(combined),
        write.queryId(),
        write.writeOptions(),
        write.outputMode(),
        write.batchId());
  }
}
