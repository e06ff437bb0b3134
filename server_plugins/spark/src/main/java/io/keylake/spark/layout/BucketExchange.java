package io.keylake.spark.layout;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.engine.Shuffles;
import io.keylake.spark.keys.KeyBucketFunction;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Brings rows that are repartitioned by {@link KeyBucketFunction} into partitions that Spark knows
 * to be buckets, every one of them, so that tables in the same buckets stay where they are.
 */
public final class BucketExchange extends SparkStrategy {
  private final ClassicSession session;

  public BucketExchange(SparkSession session) {
    this.session = ClassicSession.of(session);
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
    SparkPlan rows = session.prepared(((RepartitionByExpression) plan).child());
    return CollectionConverters.asScala(List.of(Shuffles.intoBuckets(rows, by, partitions)))
        .toSeq();
  }
}
