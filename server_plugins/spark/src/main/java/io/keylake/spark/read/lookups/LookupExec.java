package io.keylake.spark.read.lookups;

import io.keylake.spark.plans.PhysicalNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows that the driver reads when the plan runs. It is public because Spark copies plans by their
 * constructors.
 */
public final class LookupExec extends PhysicalNode {
  private static final long serialVersionUID = 1L;
  private final Seq<Attribute> output;
  private final transient LookupRows rows;

  public LookupExec(Seq<Attribute> output, LookupRows rows) {
    this.output = output;
    this.rows = rows;
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public String nodeName() {
    return "KeyLookup";
  }

  /** The rows for those who ask before a job is made of the plan. */
  @Override
  public InternalRow[] executeCollect() {
    return rows.read().toArray(InternalRow[]::new);
  }

  @Override
  public InternalRow[] executeTake(int most) {
    InternalRow[] all = executeCollect();
    return all.length <= most ? all : Arrays.copyOf(all, most);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    DataType[] types =
        CollectionConverters.asJava(output).stream()
            .map(Attribute::dataType)
            .toArray(DataType[]::new);
    UnsafeProjection packed = UnsafeProjection.create(types);
    List<InternalRow> all = new ArrayList<>();
    for (InternalRow row : executeCollect()) {
      all.add(packed.apply(row).copy());
    }
    return JavaSparkContext.fromSparkContext(sparkContext()).parallelize(all, 1).rdd();
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + rows;
  }

  /** The text of the step, as a scan by tasks is shown. */
  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName() + "\n" + rows + "\n";
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return Arrays.asList(output, rows);
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
