package io.keylake.spark.write.skew;

import java.util.List;
import java.util.Objects;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Tells the driver the rows that pass, while they are few. It is public because Spark copies plans
 * by their constructors.
 */
public final class FewRowsExec extends SparkPlan {
  private static final long serialVersionUID = 1L;
  private final SparkPlan rows;
  private final FewRows few;

  public FewRowsExec(SparkPlan rows, FewRows few) {
    this.rows = rows;
    this.few = few;
  }

  @Override
  public Seq<Attribute> output() {
    return rows.output();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    RDD<InternalRow> all = rows.execute();
    if (!few.isRegistered()) {
      sparkContext().register(few);
    }
    FewRows.Teller teller = few.teller(all.getNumPartitions());
    return all.toJavaRDD().mapPartitionsWithIndex(teller::of, true).rdd();
  }

  @Override
  public Seq<SparkPlan> children() {
    return CollectionConverters.asScala(List.of(rows)).toSeq();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new FewRowsExec(children.head(), few);
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? rows : few;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof FewRowsExec;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FewRowsExec that && rows.equals(that.rows) && few == that.few;
  }

  @Override
  public int hashCode() {
    return Objects.hash(rows, few);
  }
}
