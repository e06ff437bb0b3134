package io.keylake.spark.reducers.partial;

import io.keylake.spark.plans.LogicalNode;
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
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of a plan, of which each task has combined some that have the same key. How many it
 * leaves of a key is not said: one where a key is frequent, and all where hardly any comes again.
 * It is public because Spark copies plans by their constructors.
 */
public final class CombinedRows extends LogicalNode {
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
  public String simpleString(int maxFields) {
    return nodeName() + " " + combining.text(CollectionConverters.asJava(output()));
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return List.of(rows, combining);
  }

  @Override
  protected List<LogicalPlan> inputs() {
    return List.of(rows);
  }

  @Override
  protected LogicalPlan over(List<LogicalPlan> inputs) {
    return new CombinedRows(inputs.get(0), combining);
  }
}
