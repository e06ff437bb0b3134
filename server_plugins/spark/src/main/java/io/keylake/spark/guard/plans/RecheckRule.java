package io.keylake.spark.guard.plans;

import io.keylake.spark.access.AccessControl;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

/**
 * The rule that checks a plan before it is run, where the policy has changed since it was analyzed:
 * sessions keep analyzed plans of frames, and Spark checks none of them twice.
 */
final class RecheckRule extends Rule<LogicalPlan> {
  private final AccessControl control;
  private final AccessCheck check;
  private final Object first;

  RecheckRule(AccessControl control, SparkSession session) {
    this.control = control;
    this.check = new AccessCheck(control, session);
    this.first = control.state();
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!control.state().equals(first)) {
      check.again(plan);
    }
    return plan;
  }
}
