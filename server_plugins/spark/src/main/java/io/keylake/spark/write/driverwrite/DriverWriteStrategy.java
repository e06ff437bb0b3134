package io.keylake.spark.write.driverwrite;

import io.keylake.spark.write.DriverWrite;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Plans writes whose rows are there when they are planned, as a step that the driver does. */
public final class DriverWriteStrategy extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    DriverWrite write =
        plan instanceof V2WriteCommand command && command.query() instanceof LocalRelation
            ? write(command)
            : null;
    return CollectionConverters.asScala(
            write == null ? List.<SparkPlan>of() : List.of(planned((V2WriteCommand) plan, write)))
        .toSeq();
  }

  private static @Nullable DriverWrite write(V2WriteCommand command) {
    Option<Write> made =
        command instanceof AppendData append
            ? append.write()
            : command instanceof OverwriteByExpression overwrite
                ? overwrite.write()
                : command instanceof OverwritePartitionsDynamic dynamic
                    ? dynamic.write()
                    : Option.empty();
    return made.isEmpty() ? null : DriverWrite.of(made.get());
  }

  private static SparkPlan planned(V2WriteCommand command, DriverWrite write) {
    LocalRelation rows = (LocalRelation) command.query();
    return new DriverWriteExec(
        (DataSourceV2Relation) command.table(), write, CollectionConverters.asJava(rows.data()));
  }
}
