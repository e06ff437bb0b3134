package io.keylake.spark.table;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.runtime.AbstractPartialFunction;

/** A rule of the analyzer that changes nodes of a plan one by one, from the leaves up. */
public abstract class NodeRule extends Rule<LogicalPlan> {
  /** The rule changes a node. */
  protected abstract boolean concerns(LogicalPlan node);

  /** The plan in the place of a node that the rule concerns. */
  protected abstract LogicalPlan changed(LogicalPlan node);

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsUp(
        new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
          @Override
          public boolean isDefinedAt(LogicalPlan node) {
            return concerns(node);
          }

          @Override
          public LogicalPlan apply(LogicalPlan node) {
            return changed(node);
          }
        });
  }
}
