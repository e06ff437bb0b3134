package io.keylake.spark.reducers.partial;

import io.keylake.tables.spec.HelperColumn;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of a plan, of which each task has combined some that have the same key. How many it
 * leaves of a key is not said: one where a key is frequent, and all where hardly any comes again.
 * It is public because Spark copies plans by their constructors.
 */
public final class CombinedRows extends LogicalPlan {
  private static final long serialVersionUID = 1L;
  private final LogicalPlan rows;
  private final CombineSpec combining;

  public CombinedRows(LogicalPlan rows, CombineSpec combining) {
    this.rows = rows;
    this.combining = combining;
  }

  /**
   * The rows of a write, combined where its columns permit.
   *
   * @param rows that add contributions, with one version for all columns of a row
   */
  public static LogicalPlan of(LogicalPlan rows, KeyedSchema schema) {
    if (rows instanceof CombinedRows || CombineSpec.of(columns(rows), schema) == null) {
      return rows;
    }
    List<NamedExpression> columns = new ArrayList<>(columns(rows));
    columns.add(
        new Alias(
            Literal.create(null, new ArrayType(DataTypes.BinaryType, true)),
            HelperColumn.COMBINED,
            NamedExpression.newExprId(),
            CollectionConverters.asScala(List.<String>of()).toSeq(),
            Option.empty(),
            CollectionConverters.asScala(List.<String>of()).toSeq()));
    Project prepared = new Project(CollectionConverters.asScala(columns).toSeq(), rows);
    CombineSpec combining = CombineSpec.of(columns(prepared), schema);
    return new CombinedRows(prepared, Objects.requireNonNull(combining));
  }

  private static List<Attribute> columns(LogicalPlan plan) {
    return CollectionConverters.asJava(plan.output());
  }

  LogicalPlan rows() {
    return rows;
  }

  CombineSpec combining() {
    return combining;
  }

  @Override
  public Seq<Attribute> output() {
    return rows.output();
  }

  /** All columns are looked at or passed on. */
  @Override
  public AttributeSet references() {
    return rows.outputSet();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return CollectionConverters.asScala(List.of(rows)).toSeq();
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return new CombinedRows(children.head(), combining);
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + combining.text(CollectionConverters.asJava(output()));
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? rows : combining;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof CombinedRows;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CombinedRows that
        && rows.equals(that.rows)
        && combining.equals(that.combining);
  }

  @Override
  public int hashCode() {
    return Objects.hash(rows, combining);
  }
}
