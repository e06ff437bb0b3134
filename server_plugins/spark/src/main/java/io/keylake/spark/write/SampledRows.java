package io.keylake.spark.write;

import java.util.List;
import java.util.Objects;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows as they come, whose keys were looked at before the first of them is moved: the shuffle above
 * needs to know where ranges of keys begin. It is public because Spark copies plans by their
 * constructors.
 */
public final class SampledRows extends SparkPlan {
  private static final long serialVersionUID = 1L;
  private final SparkPlan rows;
  private final KeyCuts cuts;

  public SampledRows(SparkPlan rows, KeyCuts cuts) {
    this.rows = rows;
    this.cuts = cuts;
  }

  @Override
  public Seq<Attribute> output() {
    return rows.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return rows.outputPartitioning();
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return rows.outputOrdering();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    cuts.find();
    return rows.execute();
  }

  @Override
  public Seq<SparkPlan> children() {
    return CollectionConverters.asScala(List.of(rows)).toSeq();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new SampledRows(children.head(), cuts);
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? rows : cuts;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof SampledRows;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SampledRows that && rows.equals(that.rows) && cuts == that.cuts;
  }

  @Override
  public int hashCode() {
    return Objects.hash(rows, System.identityHashCode(cuts));
  }
}
