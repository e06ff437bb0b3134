package io.keylake.spark.join;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.SparkPlan;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Joins with keyed tables batch by batch, where Spark has found that it need not move or sort them.
 *
 * <p>Spark's own sort-merge join does not know that a key has one row. It goes row by row, writes
 * all columns of each out for the next join, and keeps a copy of what it may have to return to;
 * with many columns that takes longer than reading them.
 */
public final class KeyedMergeJoinRule extends Rule<SparkPlan> {

  @Override
  public SparkPlan apply(SparkPlan plan) {
    JoinChain chain = JoinChain.of(plan);
    List<Attribute> output = CollectionConverters.asJava(plan.output());
    if (chain == null || !chain.isWorthwhile(output)) {
      return plan.mapChildren(
          new AbstractFunction1<SparkPlan, SparkPlan>() {
            @Override
            public SparkPlan apply(SparkPlan child) {
              return KeyedMergeJoinRule.this.apply(child);
            }
          });
    }
    List<SparkPlan> inputs = new ArrayList<>(List.of(apply(chain.first())));
    inputs.addAll(chain.tables());
    SparkPlan join =
        new KeyedMergeJoin(
            CollectionConverters.asScala(inputs).toSeq(), plan.output(), chain.plan(output));
    join.copyTagsFrom(plan);
    return join;
  }
}
