package io.keylake.spark.statements;

import io.keylake.spark.engine.Shuffles;
import io.keylake.spark.read.scan.ScannedRows;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.MergeRowsExec;
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec;
import org.apache.spark.sql.execution.joins.ShuffledHashJoinExec;
import org.apache.spark.sql.execution.joins.SortMergeJoinExec;
import org.jspecify.annotations.Nullable;
import scala.runtime.AbstractFunction1;

/**
 * Leaves the rows of a MERGE in the tasks in which they were joined, where these have the buckets
 * that are written: Spark's joins are chosen too late for the write to know. The rows are sorted
 * there in any case.
 *
 * <pre>
 * Sort                                  Sort
 * +- Exchange  _bucket                  +- Project  key, values, _bucket
 *    +- Project  key, values, _bucket      +- MergeRows
 *       +- MergeRows               is         +- Join  key = key
 *          +- Join  key = key                    :- scan of the target by bucket
 *             :- scan of the target by bucket    +- source
 *             +- source
 * </pre>
 */
public final class MergedInPlaceRule extends Rule<SparkPlan> {
  @Override
  public SparkPlan apply(SparkPlan plan) {
    SparkPlan moved = Shuffles.moved(plan);
    if (moved != null && isMerge(moved)) {
      return moved;
    }
    return plan.mapChildren(
        new AbstractFunction1<SparkPlan, SparkPlan>() {
          @Override
          public SparkPlan apply(SparkPlan child) {
            return MergedInPlaceRule.this.apply(child);
          }
        });
  }

  private static boolean isMerge(SparkPlan plan) {
    if (plan instanceof ProjectExec project) {
      return isMerge(project.child());
    }
    return plan instanceof MergeRowsExec merge
        && MergeRewrite.isByBucket(merge.output())
        && isInPlace(merge.child());
  }

  /** Each task has rows of one bucket of the target, and what is joined to them. */
  private static boolean isInPlace(SparkPlan plan) {
    if (plan instanceof BatchScanExec scan) {
      return ScannedRows.areInPlace(scan.scan()) && !scan.spjParams().applyPartialClustering();
    }
    SparkPlan target = target(plan);
    return target != null && isInPlace(target);
  }

  /** The input of a node whose rows decide where those of the node lie; null where none does. */
  private static @Nullable SparkPlan target(SparkPlan plan) {
    boolean isJoin =
        plan instanceof SortMergeJoinExec
            || plan instanceof ShuffledHashJoinExec
            || plan instanceof BroadcastHashJoinExec;
    boolean keepsRows =
        plan instanceof ProjectExec || plan instanceof FilterExec || plan instanceof SortExec;
    return isJoin || keepsRows ? plan.children().head() : null;
  }
}
