package io.keylake.spark.write;

import io.keylake.spark.engine.Shuffles;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.DirectShufflePartitionID;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Brings the rows of a write into ranges of keys, which are cut as soon as the write runs. */
public final class KeyRangeExchange extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    KeyCuts cuts = plan instanceof RepartitionByExpression frame ? cuts(frame) : null;
    if (cuts == null) {
      return CollectionConverters.asScala(List.<SparkPlan>of()).toSeq();
    }
    RepartitionByExpression frame = (RepartitionByExpression) plan;
    SparkPlan rows = new SampledRows(planLater(frame.child()), cuts);
    return CollectionConverters.asScala(List.of(Shuffles.of(frame, rows))).toSeq();
  }

  /** Null where rows are repartitioned by something else. */
  private static @Nullable KeyCuts cuts(RepartitionByExpression frame) {
    List<Expression> by = CollectionConverters.asJava(frame.partitionExpressions());
    return by.size() == 1
            && by.get(0) instanceof DirectShufflePartitionID direct
            && direct.child() instanceof ApplyFunctionExpression call
            && call.function() instanceof KeyRange range
        ? range.cuts()
        : null;
  }
}
