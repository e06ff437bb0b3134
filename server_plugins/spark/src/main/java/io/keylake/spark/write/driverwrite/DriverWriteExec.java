package io.keylake.spark.write.driverwrite;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.write.DriverWrite;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows that the driver writes when the plan runs. It is public because Spark copies plans by their
 * constructors.
 */
public final class DriverWriteExec extends V2CommandExec {
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

  @Override
  public Seq<SparkPlan> children() {
    return none();
  }

  private static <T> Seq<T> none() {
    return CollectionConverters.asScala(List.<T>of()).toSeq();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return this;
  }

  @Override
  public int productArity() {
    return 3;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? table : n == 1 ? write : rows;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof DriverWriteExec;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof DriverWriteExec that
        && table.equals(that.table)
        && write.equals(that.write)
        && rows.equals(that.rows);
  }

  @Override
  public int hashCode() {
    return Objects.hash(table, write);
  }
}
