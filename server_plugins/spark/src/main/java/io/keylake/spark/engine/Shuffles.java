package io.keylake.spark.engine;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.exchange.REPARTITION_BY_COL$;
import org.apache.spark.sql.execution.exchange.REPARTITION_BY_NUM$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.collection.immutable.Seq;

/** Shuffles, as physical plans. */
public final class Shuffles {
  private Shuffles() {}

  /**
   * @param rows prepared for execution
   * @param by the columns that say where a row goes
   * @param values those of each partition
   */
  public static SparkPlan intoBuckets(SparkPlan rows, Seq<Expression> by, Seq<InternalRow> values) {
    Partitioning buckets = BucketPartitioning.of(by, values);
    return new BucketedRows(
        new ShuffleExchangeExec(buckets, rows, REPARTITION_BY_NUM$.MODULE$, Option.empty()),
        buckets);
  }

  /** The rows that a shuffle moves; null where the plan is none. */
  public static @Nullable SparkPlan moved(SparkPlan plan) {
    return plan instanceof ShuffleExchangeExec shuffle ? shuffle.child() : null;
  }

  /** Brings rows to where a logical plan wants them. */
  public static SparkPlan of(RepartitionByExpression wanted, SparkPlan rows) {
    return new ShuffleExchangeExec(
        wanted.partitioning(),
        rows,
        REPARTITION_BY_COL$.MODULE$,
        wanted.optAdvisoryPartitionSize());
  }
}
