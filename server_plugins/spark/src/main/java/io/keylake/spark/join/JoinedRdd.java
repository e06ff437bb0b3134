package io.keylake.spark.join;

import io.keylake.spark.engine.ZippedBatches;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Joins the partitions of all inputs that have the same number. */
final class JoinedRdd extends ZippedBatches {
  private static final long serialVersionUID = 1L;
  private final JoinPlan plan;
  private final SQLMetric rowsOut;

  JoinedRdd(SparkContext context, List<RDD<?>> inputs, JoinPlan plan, SQLMetric rowsOut) {
    super(context, inputs);
    this.plan = plan;
    this.rowsOut = rowsOut;
  }

  @Override
  protected Iterator<ColumnarBatch> zip(List<Iterator<ColumnarBatch>> inputs) {
    return new JoinedBatches(plan, inputs, rowsOut::add);
  }
}
