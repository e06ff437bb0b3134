package io.keylake.spark.write.driverwrite;

import io.keylake.spark.write.DriverWrite;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec;

/** Lets the driver write small batches of streams. */
public final class BatchWriteRule extends Rule<SparkPlan> {
  @Override
  public SparkPlan apply(SparkPlan plan) {
    return plan instanceof WriteToDataSourceV2Exec write
            && DriverWrite.of(write.batchWrite()) != null
        ? new BatchWriteExec(plan)
        : plan;
  }
}
