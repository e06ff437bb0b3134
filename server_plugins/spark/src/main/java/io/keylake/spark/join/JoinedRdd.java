package io.keylake.spark.join;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ZippedPartitionsBaseRDD;
import org.apache.spark.rdd.ZippedPartitionsPartition;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;

/** Joins the partitions of all inputs that have the same number. */
final class JoinedRdd extends ZippedPartitionsBaseRDD<ColumnarBatch> {
  private static final long serialVersionUID = 1L;
  private final JoinPlan plan;
  private final SQLMetric rowsOut;

  JoinedRdd(SparkContext context, List<RDD<?>> inputs, JoinPlan plan, SQLMetric rowsOut) {
    super(
        context,
        CollectionConverters.asScala(inputs).toSeq(),
        false,
        ClassTag.apply(ColumnarBatch.class));
    this.plan = plan;
    this.rowsOut = rowsOut;
  }

  @Override
  public scala.collection.Iterator<ColumnarBatch> compute(Partition split, TaskContext context) {
    Seq<Partition> parts = ((ZippedPartitionsPartition) split).partitions();
    List<Iterator<ColumnarBatch>> batches = new ArrayList<>();
    for (int i = 0; i < parts.size(); i++) {
      batches.add(batches(rdds().apply(i), parts.apply(i), context));
    }
    return CollectionConverters.asScala(new JoinedBatches(plan, batches, rowsOut::add));
  }

  @SuppressWarnings("unchecked") // what supports columns gives batches, and says it gives rows
  private static Iterator<ColumnarBatch> batches(RDD<?> rdd, Partition part, TaskContext context) {
    return CollectionConverters.asJava(((RDD<ColumnarBatch>) rdd).iterator(part, context));
  }
}
