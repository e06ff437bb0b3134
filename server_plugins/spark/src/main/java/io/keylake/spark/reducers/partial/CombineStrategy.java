package io.keylake.spark.reducers.partial;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Plans {@link CombinedRows}. */
public final class CombineStrategy extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    List<SparkPlan> found =
        plan instanceof CombinedRows combined
            ? List.of(new CombineExec(planLater(combined.rows()), combined.combining()))
            : List.of();
    return CollectionConverters.asScala(found).toSeq();
  }
}
