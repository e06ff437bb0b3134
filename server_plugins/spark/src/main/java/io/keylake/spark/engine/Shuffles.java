package io.keylake.spark.engine;

import io.keylake.tables.GuestApi;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.apache.spark.MapOutputStatistics;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkException;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DirectShufflePartitionID;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.ShufflePartitionIdPassThrough;
import org.apache.spark.sql.execution.CoalescedPartitionSpec;
import org.apache.spark.sql.execution.PartialReducerPartitionSpec;
import org.apache.spark.sql.execution.ShufflePartitionSpec;
import org.apache.spark.sql.execution.ShuffledRowRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec;
import org.apache.spark.sql.execution.exchange.REPARTITION_BY_NUM$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike;
import org.apache.spark.sql.execution.metric.SQLShuffleReadMetricsReporter;
import org.apache.spark.sql.execution.metric.SQLShuffleWriteMetricsReporter;
import org.apache.spark.util.ThreadUtils;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.concurrent.duration.Duration$;

/** Shuffles, as physical plans. */
@GuestApi
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

  /**
   * @param number of the partition that a row goes to, as a column of the rows
   */
  public static SparkPlan byNumber(SparkPlan rows, Expression number, int partitions) {
    return new ShuffleExchangeExec(
        numbered(number, partitions), rows, REPARTITION_BY_NUM$.MODULE$, Option.empty());
  }

  private static Partitioning numbered(Expression number, int partitions) {
    return new ShufflePartitionIdPassThrough(new DirectShufflePartitionID(number), partitions);
  }

  /** The plan that is run: an adaptive one runs its shuffles first, and is decided by them. */
  public static SparkPlan decided(SparkPlan plan) {
    return plan instanceof AdaptiveSparkPlanExec adaptive ? adaptive.finalPhysicalPlan() : plan;
  }

  /** Runs a shuffle, unless it has run; null where it has no rows to move. */
  public static @Nullable Shuffled ran(SparkPlan plan) {
    ShuffleExchangeLike shuffle =
        plan instanceof ShuffleQueryStageExec stage
            ? stage.shuffle()
            : plan instanceof ShuffleExchangeLike own ? own : null;
    if (shuffle == null) {
      return null; // Spark knows that there are none
    }
    try {
      MapOutputStatistics found =
          ThreadUtils.awaitResult(shuffle.submitShuffleJob(), Duration$.MODULE$.Inf());
      return found == null ? null : new Shuffled(shuffle, found.bytesByPartitionId());
    } catch (SparkException e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
  }

  /** A shuffle that has run. */
  public record Shuffled(ShuffleExchangeLike shuffle, long[] bytesOfPartitions) {

    /**
     * @param tasks the first partition of each, and the first that it does not have
     */
    public RDD<InternalRow> whole(List<int[]> tasks) {
      return rows(
          tasks.stream()
              .map(task -> new CoalescedPartitionSpec(task[0], task[1], Option.empty()))
              .toArray(ShufflePartitionSpec[]::new));
    }

    /** Some partitions, each read by several tasks, which have the output of some tasks each. */
    public RDD<InternalRow> parts(List<Integer> partitions, IntUnaryOperator tasks) {
      int mappers = shuffle.numMappers();
      List<ShufflePartitionSpec> specs = new ArrayList<>();
      for (int partition : partitions) {
        int many = Math.min(tasks.applyAsInt(partition), mappers);
        for (int i = 0; i < many; i++) {
          specs.add(
              new PartialReducerPartitionSpec(
                  partition, i * mappers / many, (i + 1) * mappers / many, 0));
        }
      }
      return rows(specs.toArray(ShufflePartitionSpec[]::new));
    }

    @SuppressWarnings("unchecked") // of rows, not of batches
    private RDD<InternalRow> rows(ShufflePartitionSpec[] specs) {
      return (RDD<InternalRow>) shuffle.getShuffleRDD(specs);
    }
  }

  /**
   * Moves rows that tasks have, as those that they read from another shuffle.
   *
   * @param number of the partition that a row goes to, over the columns
   */
  public static RDD<InternalRow> ofTasks(
      RDD<InternalRow> rows, Seq<Attribute> columns, Expression number, int partitions) {
    SparkContext context = rows.context();
    return new ShuffledRowRDD(
        ShuffleExchangeExec.prepareShuffleDependency(
            rows,
            columns,
            numbered(number, partitions),
            new UnsafeRowSerializer(columns.size(), null),
            SQLShuffleWriteMetricsReporter.createShuffleWriteMetrics(context)),
        SQLShuffleReadMetricsReporter.createShuffleReadMetrics(context));
  }
}
