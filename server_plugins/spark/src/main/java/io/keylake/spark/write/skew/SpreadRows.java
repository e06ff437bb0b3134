package io.keylake.spark.write.skew;

import io.keylake.spark.plans.LogicalNode;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;

/**
 * The rows of a plan, moved to tasks of about one size, each of which has whole cells or a range of
 * the keys of one. It is public because Spark copies plans by their constructors.
 */
public final class SpreadRows extends LogicalNode {
  private static final long serialVersionUID = 1L;
  private final LogicalPlan rows;
  private final SpreadSpec spreading;
  private final FewRows.Limit few;

  /**
   * @param few rows that the driver is told, too
   */
  public SpreadRows(LogicalPlan rows, SpreadSpec spreading, FewRows.Limit few) {
    this.rows = rows;
    this.spreading = spreading;
    this.few = few;
  }

  LogicalPlan rows() {
    return rows;
  }

  SpreadSpec spreading() {
    return spreading;
  }

  FewRows.Limit few() {
    return few;
  }

  @Override
  public Seq<Attribute> output() {
    return rows.output();
  }

  /** All columns are passed on. */
  @Override
  public AttributeSet references() {
    return rows.outputSet();
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName();
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return List.of(rows, spreading, few);
  }

  @Override
  protected List<LogicalPlan> inputs() {
    return List.of(rows);
  }

  @Override
  protected LogicalPlan over(List<LogicalPlan> inputs) {
    return new SpreadRows(inputs.get(0), spreading, few);
  }
}
