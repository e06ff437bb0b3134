package io.keylake.spark.layout;

import io.keylake.spark.engine.BucketPartitioning;
import io.keylake.spark.keys.KeyBucketFunction;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.physical.KeyGroupedPartitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.exchange.REPARTITION_BY_NUM$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Brings rows that are repartitioned by {@link KeyBucketFunction} into partitions that Spark knows
 * to be buckets, every one of them, so that tables in the same buckets stay where they are.
 */
public final class BucketExchange extends SparkStrategy {
  private final SparkSession session;

  public BucketExchange(SparkSession session) {
    this.session = session;
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    KeyLayout layout =
        plan instanceof RepartitionByExpression frame ? BucketedFrameRule.layout(frame) : null;
    if (layout == null) {
      return CollectionConverters.asScala(List.<SparkPlan>of()).toSeq();
    }
    int buckets = layout.hashing().buckets();
    List<InternalRow> values = new ArrayList<>();
    for (int bucket = 0; bucket < buckets; bucket++) {
      values.add(new GenericInternalRow(new Object[] {bucket}));
    }
    Seq<InternalRow> partitions = CollectionConverters.asScala(values).toSeq();
    Seq<Expression> by =
        CollectionConverters.asScala(List.<Expression>copyOf(layout.hidden())).toSeq();
    KeyGroupedPartitioning partitioning = BucketPartitioning.of(by, partitions);
    SparkPlan rows =
        QueryExecution.prepareExecutedPlan(session, ((RepartitionByExpression) plan).child());
    SparkPlan shuffle =
        new ShuffleExchangeExec(partitioning, rows, REPARTITION_BY_NUM$.MODULE$, Option.empty());
    return CollectionConverters.asScala(List.<SparkPlan>of(new BucketedRows(shuffle, partitioning)))
        .toSeq();
  }
}
