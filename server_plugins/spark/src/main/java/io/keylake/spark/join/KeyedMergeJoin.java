package io.keylake.spark.join;

import io.keylake.spark.plans.PhysicalNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Joins one sorted input with keyed tables, all of them in one pass over their batches. It is
 * public because Spark copies plans by their constructors.
 */
public final class KeyedMergeJoin extends PhysicalNode {
  private static final long serialVersionUID = 1L;
  private static final String ROWS_OUT = "numOutputRows";
  private final Seq<SparkPlan> inputs;
  private final Seq<Attribute> output;
  private final JoinPlan plan;
  private @Nullable Map<String, SQLMetric> metrics;

  /**
   * @param inputs the first one, whose order the result keeps, and those of the sides
   */
  public KeyedMergeJoin(Seq<SparkPlan> inputs, Seq<Attribute> output, JoinPlan plan) {
    this.inputs = inputs;
    this.output = output;
    this.plan = plan;
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public AttributeSet producedAttributes() {
    return outputSet(); // some go by new names
  }

  @Override
  public Partitioning outputPartitioning() {
    return inputs.head().outputPartitioning();
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return inputs.head().outputOrdering();
  }

  @Override
  public boolean supportsColumnar() {
    return true;
  }

  /** Made when it is asked for: plans are also copied where there is no session. */
  @Override
  public synchronized Map<String, SQLMetric> metrics() {
    Map<String, SQLMetric> made = metrics;
    if (made == null) {
      SQLMetric rowsOut = SQLMetrics.createMetric(sparkContext(), "number of output rows");
      made =
          scala.collection.immutable.Map.from(
              CollectionConverters.asScala(java.util.Map.of(ROWS_OUT, rowsOut)));
      metrics = made;
    }
    return made;
  }

  @Override
  public RDD<ColumnarBatch> doExecuteColumnar() {
    List<RDD<?>> batches = new ArrayList<>();
    for (SparkPlan input : CollectionConverters.asJava(inputs)) {
      batches.add(input.executeColumnar());
    }
    return new JoinedRdd(sparkContext(), batches, plan, metrics().apply(ROWS_OUT));
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return new ColumnarToRowExec(this).execute();
  }

  @Override
  public String simpleString(int maxFields) {
    List<String> described = new ArrayList<>();
    for (Side side : plan.sides()) {
      int input = described.size() + 1;
      described.add(
          side.how() + " " + names(0, side.firstKey()) + " = " + names(input, side.ownKey()));
    }
    return nodeName() + " " + String.join(", ", described);
  }

  private List<Attribute> names(int input, List<Integer> columns) {
    return columns.stream().map(column -> inputs.apply(input).output().apply(column)).toList();
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return List.of(inputs, output, plan);
  }

  @Override
  protected List<SparkPlan> inputs() {
    return CollectionConverters.asJava(inputs);
  }

  @Override
  protected SparkPlan over(List<SparkPlan> inputs) {
    return new KeyedMergeJoin(CollectionConverters.asScala(inputs).toSeq(), output, plan);
  }
}
