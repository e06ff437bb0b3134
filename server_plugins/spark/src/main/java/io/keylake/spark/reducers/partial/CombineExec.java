package io.keylake.spark.reducers.partial;

import io.keylake.spark.plans.PhysicalNode;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Combines rows of the same key as they pass. It is public because Spark copies plans by their
 * constructors.
 */
public final class CombineExec extends PhysicalNode {
  private static final long serialVersionUID = 1L;
  private static final String ROWS_OUT = "numOutputRows";
  private final SparkPlan rows;
  private final CombineSpec combining;
  private @Nullable Map<String, SQLMetric> metrics;

  public CombineExec(SparkPlan rows, CombineSpec combining) {
    this.rows = rows;
    this.combining = combining;
  }

  @Override
  public Seq<Attribute> output() {
    return rows.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return rows.outputPartitioning();
  }

  /** Made when it is asked for: plans are also copied where there is no session. */
  @Override
  public synchronized Map<String, SQLMetric> metrics() {
    Map<String, SQLMetric> made = metrics;
    if (made == null) {
      SQLMetric rowsOut = SQLMetrics.createMetric(sparkContext(), "number of output rows");
      made = Map.from(CollectionConverters.asScala(java.util.Map.of(ROWS_OUT, rowsOut)));
      metrics = made;
    }
    return made;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    CombineSpec how = combining;
    SQLMetric rowsOut = metrics().apply(ROWS_OUT);
    return rows.execute()
        .toJavaRDD()
        .mapPartitions(incoming -> new Combiner(incoming, how, rowsOut))
        .rdd();
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + combining.text(CollectionConverters.asJava(output()));
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return List.of(rows, combining);
  }

  @Override
  protected List<SparkPlan> inputs() {
    return List.of(rows);
  }

  @Override
  protected SparkPlan over(List<SparkPlan> inputs) {
    return new CombineExec(inputs.get(0), combining);
  }
}
