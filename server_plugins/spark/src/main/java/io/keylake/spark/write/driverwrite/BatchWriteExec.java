package io.keylake.spark.write.driverwrite;

import io.keylake.spark.plans.CommandNode;
import io.keylake.spark.write.DriverWrite;
import io.keylake.spark.write.skew.SpreadExec;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A batch of a stream. Tasks make its rows; where they are few, the driver writes them, and
 * otherwise another job does, as Spark has planned it. It is public because Spark copies plans by
 * their constructors.
 */
public final class BatchWriteExec extends CommandNode {
  private static final long serialVersionUID = 1L;
  private final SparkPlan byTasks;

  /**
   * @param byTasks Spark's own write of the batch
   */
  public BatchWriteExec(SparkPlan byTasks) {
    this.byTasks = byTasks;
  }

  @Override
  public Seq<InternalRow> run() {
    WriteToDataSourceV2Exec write = (WriteToDataSourceV2Exec) byTasks;
    DriverWrite byDriver = DriverWrite.of(write.batchWrite());
    List<InternalRow> rows = byDriver == null ? null : SpreadExec.fewRows(write.query());
    if (byDriver == null || rows == null) {
      byTasks.executeCollect();
    } else {
      write(byDriver, rows);
      write.refreshCache().apply();
    }
    return seq(List.of());
  }

  private static void write(DriverWrite write, List<InternalRow> rows) {
    try {
      write.run(rows);
    } catch (CancellationException e) {
      InterruptedIOException interrupted = new InterruptedIOException(write.toString());
      interrupted.initCause(e);
      throw new UncheckedIOException(interrupted); // by which a query knows that it was stopped
    }
  }

  @Override
  public String nodeName() {
    return "WriteBatch";
  }

  @Override
  public Seq<Attribute> output() {
    return seq(List.of());
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return List.of(byTasks);
  }

  @Override
  protected List<SparkPlan> inputs() {
    return List.of(byTasks);
  }

  @Override
  protected SparkPlan over(List<SparkPlan> inputs) {
    return new BatchWriteExec(inputs.get(0));
  }
}
