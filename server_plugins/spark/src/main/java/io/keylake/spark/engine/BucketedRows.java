package io.keylake.spark.engine;

import io.keylake.spark.plans.PhysicalNode;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.KeyGroupedPartitionedScan;
import org.apache.spark.sql.execution.SparkPlan;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows that a shuffle has brought into buckets. To Spark it is a scan, with nothing below it: Spark
 * leaves tables where they are only next to scans, and tells all scans below a join which buckets
 * there are, those from which shuffled rows come, too, though these lie in others. It is public
 * because Spark copies plans by their constructors.
 */
public final class BucketedRows extends PhysicalNode implements KeyGroupedPartitionedScan<Object> {
  private static final long serialVersionUID = 1L;
  private final SparkPlan shuffle;
  private final Partitioning buckets;

  /**
   * @param shuffle prepared for execution
   * @param buckets the partitions it makes
   */
  public BucketedRows(SparkPlan shuffle, Partitioning buckets) {
    this.shuffle = shuffle;
    this.buckets = buckets;
  }

  @Override
  public Seq<Attribute> output() {
    return shuffle.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return buckets;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return shuffle.execute();
  }

  /** Shown with the plan, but not part of what Spark still changes. */
  @Override
  @SuppressWarnings({"rawtypes", "unchecked"}) // the classes above give it two types
  public Seq innerChildren() {
    return CollectionConverters.asScala(List.of(shuffle)).toSeq();
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return List.of(shuffle, buckets);
  }

  @Override
  protected List<SparkPlan> inputs() {
    return List.of();
  }

  @Override
  protected SparkPlan over(List<SparkPlan> inputs) {
    return this;
  }
}
