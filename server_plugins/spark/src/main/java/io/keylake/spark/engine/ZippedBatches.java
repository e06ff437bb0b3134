package io.keylake.spark.engine;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ZippedPartitionsBaseRDD;
import org.apache.spark.rdd.ZippedPartitionsPartition;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;

/** Takes the partitions of all inputs that have the same number together. */
public abstract class ZippedBatches extends ZippedPartitionsBaseRDD<ColumnarBatch> {
  private static final long serialVersionUID = 1L;

  protected ZippedBatches(SparkContext context, List<RDD<?>> inputs) {
    super(
        context,
        CollectionConverters.asScala(inputs).toSeq(),
        false,
        ClassTag.apply(ColumnarBatch.class));
  }

  /**
   * @param inputs the batches of one partition of each input
   */
  protected abstract Iterator<ColumnarBatch> zip(List<Iterator<ColumnarBatch>> inputs);

  @Override
  public final scala.collection.Iterator<ColumnarBatch> compute(
      Partition split, TaskContext context) {
    Seq<Partition> parts = ((ZippedPartitionsPartition) split).partitions();
    List<Iterator<ColumnarBatch>> inputs = new ArrayList<>();
    for (int i = 0; i < parts.size(); i++) {
      inputs.add(batches(rdds().apply(i), parts.apply(i), context));
    }
    return CollectionConverters.asScala(zip(inputs));
  }

  @SuppressWarnings("unchecked") // what supports columns gives batches, and says it gives rows
  private static Iterator<ColumnarBatch> batches(RDD<?> rdd, Partition part, TaskContext context) {
    return CollectionConverters.asJava(((RDD<ColumnarBatch>) rdd).iterator(part, context));
  }
}
