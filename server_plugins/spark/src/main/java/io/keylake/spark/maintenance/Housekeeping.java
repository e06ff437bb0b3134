package io.keylake.spark.maintenance;

import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.branches.RetentionPolicy;
import io.keylake.tables.history.Positions;
import java.time.Duration;
import java.time.Instant;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.DeleteOrphanFiles;
import org.apache.iceberg.actions.ExpireSnapshots;
import org.apache.iceberg.spark.actions.SparkActions;

/**
 * What is left to do when files have been merged: Iceberg's own actions, called with the table's
 * {@link RetentionPolicy}.
 */
public final class Housekeeping {
  /**
   * A plan opens the manifests of all buckets; beyond so many they are written again, by bucket.
   */
  private static final int MOST_MANIFESTS = 200;

  private Housekeeping() {}

  /**
   * What was done.
   *
   * @param snapshots that expired
   * @param files of expired snapshots that were deleted: data, manifests and lists of them
   * @param orphans files that no snapshot knew
   * @param states archived states that were dropped
   */
  public record Done(
      long snapshots, long files, long orphans, boolean hasNewManifests, int states) {}

  public static Done run(Table table, RetentionPolicy policy, Instant now) {
    long snapshots = count(table);
    int states = new HistoryBranches(table).dropExpired(policy, now);
    long files = policy.kept() == null ? 0 : expire(table, policy, now);
    boolean hasNewManifests = rewriteManifests(table);
    return new Done(
        snapshots - count(table),
        files,
        removeOrphans(table, policy, now),
        hasNewManifests,
        states);
  }

  private static long count(Table table) {
    table.refresh();
    long count = 0;
    for (Snapshot ignored : table.snapshots()) {
      count++;
    }
    return count;
  }

  /** What a consumer of the change feed has still to read is kept, however old it is. */
  private static long expire(Table table, RetentionPolicy policy, Instant now) {
    long old = now.minus(policy.kept()).toEpochMilli();
    ExpireSnapshots.Result result =
        SparkActions.get()
            .expireSnapshots(table)
            .expireOlderThan(Math.min(old, Positions.fenceMillis(table)))
            .retainLast(policy.snapshots())
            .execute();
    return result.deletedDataFilesCount()
        + result.deletedManifestsCount()
        + result.deletedManifestListsCount();
  }

  private static long removeOrphans(Table table, RetentionPolicy policy, Instant now) {
    // A file of this very moment may have been listed before its commit was seen.
    Instant before = now.minus(policy.orphansKept()).minus(Duration.ofMillis(1));
    DeleteOrphanFiles.Result result =
        SparkActions.get().deleteOrphanFiles(table).olderThan(before.toEpochMilli()).execute();
    long count = 0;
    for (String ignored : result.orphanFileLocations()) {
      count++;
    }
    return count;
  }

  private static boolean rewriteManifests(Table table) {
    Snapshot head = table.currentSnapshot();
    if (head == null || head.allManifests(table.io()).size() <= MOST_MANIFESTS) {
      return false;
    }
    int bucket = table.spec().fields().size() - 1;
    table
        .rewriteManifests()
        .clusterBy(file -> file.partition().get(bucket, Integer.class))
        .commit();
    return true;
  }
}
