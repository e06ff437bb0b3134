package io.keylake.spark.preparation;

import io.keylake.spark.reducers.partial.CombinedRows;
import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.write.DriverWrite;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.spark.write.skew.FewRows;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource;

/**
 * Says how the rows of each batch of a streaming query get to their tasks, as {@link SpreadRule}
 * does for other writes; or to the driver, which writes a few itself.
 */
public final class SpreadBatchRule extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!(plan instanceof WriteToMicroBatchDataSource write
        && write.table() instanceof KeyedTable table
        && table.rows() == Rows.PREPARED)) {
      return plan;
    }
    WriteOptions options = StreamWriteRule.said(write);
    LogicalPlan combined =
        options.mayCombineRows() ? CombinedRows.of(write.query(), table.stored()) : write.query();
    RowPlace place = RowPlace.of(combined, table.stored());
    FewRows.Limit few =
        new FewRows.Limit(DriverWrite.mostRows(table.stored()), DriverWrite.MOST_BYTES);
    return write.copy(
        write.relation(),
        table.taking(Rows.SPREAD),
        place.spread(place.numbered(combined), few),
        write.queryId(),
        write.writeOptions(),
        write.outputMode(),
        write.batchId());
  }
}
