package io.keylake.spark.rules;

import io.keylake.spark.combine.CombinedRows;
import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.statements.MergeRewrite;
import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.write.KeyCuts;
import io.keylake.spark.write.KeyRange;
import io.keylake.spark.write.KeyRanges;
import io.keylake.spark.write.KeySample;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.DirectShufflePartitionID;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Cuts large writes to keyed tables into tasks by ranges of (partition, bucket, key) that hold
 * about as many rows each, whatever is hot: a look at the rows' keys, when the write runs, says
 * where to cut. A small write is shuffled by the hash of its buckets, without such a look. Rows
 * that lie where they belong already stay there, and a few thousand that came with the statement
 * are written by one task.
 */
public final class KeyRangeRule extends Rule<LogicalPlan> {
  private static final int POINTS_PER_RANGE = 64;
  private static final int POINTS_PER_TASK = 256;
  private static final int FEW = 10_000;
  private static final int MARGIN = 3; // some tasks read more rows than others

  private final ClassicSession session;

  public KeyRangeRule(SparkSession session) {
    this.session = ClassicSession.of(session);
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!(plan instanceof V2WriteCommand write
        && write.table() instanceof DataSourceV2Relation relation
        && relation.table() instanceof KeyedTable table
        && table.rows() == Rows.PREPARED)) {
      return plan;
    }
    LogicalPlan query = write.query();
    if (RowsInPlace.are(query, table)) {
      return taking(Rows.IN_PLACE, write, RowsInPlace.inOrder(query));
    }
    if (areFew(query)) {
      return taking(Rows.IN_ONE_TASK, write, new Repartition(1, false, query));
    }
    LogicalPlan combined =
        CombinedRows.of(query, table.stored(), KeyedWriteRule.said(write, relation));
    RowPlace place = RowPlace.of(query, table.stored());
    Project numbered = place.numbered(combined);
    return fitsOneTask(query)
        ? taking(Rows.BY_HASH, write, numbered)
        : taking(Rows.BY_RANGE, write, byRange(place, query, numbered));
  }

  private static LogicalPlan taking(Rows rows, V2WriteCommand write, LogicalPlan query) {
    DataSourceV2Relation relation = (DataSourceV2Relation) write.table();
    KeyedTable table = (KeyedTable) relation.table();
    return (LogicalPlan)
        write.withNewTable(table.taking(rows).inPlaceOf(relation)).withNewQuery(query);
  }

  /** Rows that came with the statement, so that their number is known, and not worth a shuffle. */
  private static boolean areFew(LogicalPlan query) {
    LogicalPlan rows = query;
    while (rows instanceof Project || rows instanceof Filter) {
      rows = rows.children().head();
    }
    return rows instanceof LocalRelation local && local.data().size() <= FEW;
  }

  /** Spark's own measure of what is worth a task. */
  private static boolean fitsOneTask(LogicalPlan query) {
    long limit = SessionSettings.bytesPerTask();
    LogicalPlan rows = unprojected(query);
    if (rows instanceof MergeRows merge) {
      return MergeRewrite.isByBucket(merge.output()) || bytes(merge) <= limit;
    }
    return bytes(query) <= limit;
  }

  /** For a join, Spark takes the product; a row of a MERGE is made of one of either side. */
  private static double bytes(MergeRows merge) {
    LogicalPlan joined = unprojected(merge.child());
    boolean isOfSource = joined instanceof Join && merge.notMatchedBySourceInstructions().isEmpty();
    return isOfSource
        ? bytes(((Join) joined).right())
        : CollectionConverters.asJava(joined.children()).stream()
            .mapToDouble(KeyRangeRule::bytes)
            .sum();
  }

  private static double bytes(LogicalPlan plan) {
    return plan.stats().sizeInBytes().doubleValue();
  }

  private static LogicalPlan unprojected(LogicalPlan plan) {
    return plan instanceof Project project ? unprojected(project.child()) : plan;
  }

  /**
   * @param query in which rows are looked at
   * @param rows the same, with what they need on their way
   */
  private LogicalPlan byRange(RowPlace place, LogicalPlan query, Project rows) {
    DataType[] types = place.types();
    int ranges = SessionSettings.shufflePartitions();
    Project places = new Project(seq(List.<NamedExpression>copyOf(place.columns())), query);
    LogicalPlan looked = rows.child() == query ? places : CombinedRows.ofSame(places);
    KeyRanges cutting = new KeyRanges(types, place.columnsOfCell());
    KeyCuts cuts = new KeyCuts(types, () -> cutting.cuts(sample(looked, ranges), ranges));
    Expression range =
        V2ExpressionUtils.resolveScalarFunction(
            new KeyRange(cuts), seq(List.<Expression>copyOf(place.columns())));
    return new RepartitionByExpression(
        seq(List.of(new DirectShufflePartitionID(range))), rows, Option.empty(), Option.empty());
  }

  private List<KeyRanges.Point> sample(LogicalPlan places, int ranges) {
    int points = MARGIN * POINTS_PER_RANGE * ranges;
    return session
        .rows(places)
        .toJavaRDD()
        .mapPartitions(
            rows -> {
              int share = points / TaskContext.get().numPartitions() & ~1;
              return List.of(KeySample.of(rows, Math.max(POINTS_PER_TASK, share))).iterator();
            })
        .collect()
        .stream()
        .flatMap(KeySample::points)
        .toList();
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }
}
