package io.keylake.spark.write.skew;

import io.keylake.spark.plans.PhysicalNode;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;

/**
 * Tells the driver the rows that pass, while they are few. It is public because Spark copies plans
 * by their constructors.
 */
public final class FewRowsExec extends PhysicalNode {
  private static final long serialVersionUID = 1L;
  private final SparkPlan rows;
  private final FewRows few;

  public FewRowsExec(SparkPlan rows, FewRows few) {
    this.rows = rows;
    this.few = few;
  }

  @Override
  public Seq<Attribute> output() {
    return rows.output();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    RDD<InternalRow> all = rows.execute();
    if (!few.isRegistered()) {
      sparkContext().register(few);
    }
    FewRows.Teller teller = few.teller(all.getNumPartitions());
    return all.toJavaRDD().mapPartitionsWithIndex(teller::of, true).rdd();
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return List.of(rows, few);
  }

  @Override
  protected List<SparkPlan> inputs() {
    return List.of(rows);
  }

  @Override
  protected SparkPlan over(List<SparkPlan> inputs) {
    return new FewRowsExec(inputs.get(0), few);
  }
}
