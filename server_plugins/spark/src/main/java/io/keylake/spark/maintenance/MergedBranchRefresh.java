package io.keylake.spark.maintenance;

import io.keylake.tables.branches.MergedBranch;
import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.compaction.CompactionPlan;
import io.keylake.tables.compaction.CompactionPolicy;
import org.apache.iceberg.Table;
import org.apache.spark.SparkContext;

/** Makes the branch {@value MergedBranch#NAME} anew from what main has now. */
public final class MergedBranchRefresh {
  private MergedBranchRefresh() {}

  /**
   * The result of making the branch anew.
   *
   * @param snapshotId of the branch
   * @param sourceId of main, which it was made of
   */
  public record Done(long snapshotId, long sourceId, long rows) {}

  /**
   * @param atOnce how many merges run side by side
   */
  public static Done run(SparkContext spark, Table table, int atOnce) {
    MergedBranch branch = MergedBranch.begin(table);
    try {
      CompactionRunner runner =
          new CompactionRunner(spark, table, branch.working(), CompactionPolicy.MERGED);
      runner.run(atOnce);
      CompactionPlan plan = runner.plan();
      if (!plan.buckets().stream().allMatch(MergedBranchRefresh::isMerged)) {
        throw new IllegalStateException("the branch " + branch.working() + " is not merged yet");
      }
      long rows =
          plan.buckets().stream()
              .flatMap(bucket -> bucket.layout().runs().stream())
              .mapToLong(Run::rows)
              .sum();
      return new Done(branch.publish(table), branch.source(), rows);
    } catch (RuntimeException e) {
      branch.abandon(table);
      throw e;
    }
  }

  private static boolean isMerged(CompactionPlan.Choice bucket) {
    return bucket.layout().depth() <= 1
        && bucket.layout().runs().stream().noneMatch(Run::hasTombstones);
  }
}
