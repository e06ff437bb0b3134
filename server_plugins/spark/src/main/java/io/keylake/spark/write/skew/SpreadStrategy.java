package io.keylake.spark.write.skew;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.engine.Shuffles;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Plans {@link SpreadRows}. */
public final class SpreadStrategy extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    List<SparkPlan> found =
        plan instanceof SpreadRows spread ? List.of(planned(spread)) : List.of();
    return CollectionConverters.asScala(found).toSeq();
  }

  private SparkPlan planned(SpreadRows spread) {
    List<Attribute> columns = CollectionConverters.asJava(spread.output());
    int partitions = SessionSettings.shufflePartitions();
    FewRows few = spread.few().isNone() ? null : new FewRows(spread.few());
    SparkPlan rows = planLater(spread.rows());
    SparkPlan moved =
        Shuffles.byNumber(
            few == null ? rows : new FewRowsExec(rows, few),
            spread.spreading().partitionOf(columns, partitions),
            partitions);
    return new SpreadExec(moved, spread.spreading(), TaskSize.ofSession(), few);
  }
}
