package io.keylake.spark.statements;

import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.AppendDataExec;

/** Lets the write of a statement be made again where commits of others come first. */
public final class RetryRule extends Rule<SparkPlan> {
  @Override
  public SparkPlan apply(SparkPlan plan) {
    return plan instanceof AppendDataExec ? RetriedStatement.of(plan) : plan;
  }
}
