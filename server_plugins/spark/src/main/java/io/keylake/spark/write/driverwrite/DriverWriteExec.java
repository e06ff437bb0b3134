package io.keylake.spark.write.driverwrite;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.plans.CommandNode;
import io.keylake.spark.write.DriverWrite;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows that the driver writes when the plan runs. It is public because Spark copies plans by their
 * constructors.
 */
public final class DriverWriteExec extends CommandNode {
  private static final long serialVersionUID = 1L;
  private final transient DataSourceV2Relation table;
  private final transient DriverWrite write;
  private final transient List<InternalRow> rows;

  public DriverWriteExec(DataSourceV2Relation table, DriverWrite write, List<InternalRow> rows) {
    this.table = table;
    this.write = write;
    this.rows = rows;
  }

  @Override
  public Seq<InternalRow> run() {
    write.run(rows);
    ClassicSession.active().hasChanged(table);
    return none();
  }

  @Override
  public String nodeName() {
    return "WriteByDriver";
  }

  @Override
  public String simpleString(int maxFields) {
    return "%s %s, %,d rows".formatted(nodeName(), write, rows.size());
  }

  @Override
  public String verboseStringWithOperatorId() {
    return "%s%n%s, %,d rows%n".formatted(formattedNodeName(), write, rows.size());
  }

  @Override
  public Seq<Attribute> output() {
    return none();
  }

  private static <T> Seq<T> none() {
    return CollectionConverters.asScala(List.<T>of()).toSeq();
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return Arrays.asList(table, write, rows);
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
