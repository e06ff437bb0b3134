package io.keylake.spark.table;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;

/** A rule of the analyzer that changes nodes of a plan one by one, from the leaves up. */
public abstract class NodeRule extends Rule<LogicalPlan> {
  /** The rule changes a node. */
  protected abstract boolean concerns(LogicalPlan node);

  /** The plan in the place of a node that the rule concerns. */
  protected abstract LogicalPlan changed(LogicalPlan node);

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsUp(changes());
  }

  /** The change of nodes, for a rule of the optimizer: the analyzer leaves analyzed plans alone. */
  protected final PartialFunction<LogicalPlan, LogicalPlan> changes() {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(LogicalPlan node) {
        return concerns(node);
      }

      @Override
      public LogicalPlan apply(LogicalPlan node) {
        return changed(node);
      }
    };
  }
}
