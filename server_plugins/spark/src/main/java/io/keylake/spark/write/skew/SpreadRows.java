package io.keylake.spark.write.skew;

import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of a plan, moved to tasks of about one size, each of which has whole cells or a range of
 * the keys of one. It is public because Spark copies plans by their constructors.
 */
public final class SpreadRows extends LogicalPlan {
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
  public Seq<LogicalPlan> children() {
    return CollectionConverters.asScala(List.of(rows)).toSeq();
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return new SpreadRows(children.head(), spreading, few);
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName();
  }

  @Override
  public int productArity() {
    return 3;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? rows : n == 1 ? spreading : few;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof SpreadRows;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SpreadRows that
        && rows.equals(that.rows)
        && spreading.equals(that.spreading)
        && few.equals(that.few);
  }

  @Override
  public int hashCode() {
    return Objects.hash(rows, spreading, few);
  }
}
