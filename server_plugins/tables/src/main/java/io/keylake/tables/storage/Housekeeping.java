package io.keylake.tables.storage;

import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.commits.CarriedFacts;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.ManifestRewrite;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.Positions;
import io.keylake.tables.history.RetentionPolicy;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.ThreadPools;
import org.jspecify.annotations.Nullable;

/**
 * What is left to do when files have been merged: snapshots expire, and files that nobody needs are
 * deleted, as the table's {@link RetentionPolicy} says.
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
   * @param orphansLeft why orphans were not looked for; null where they were
   */
  public record Done(
      long snapshots,
      long files,
      long orphans,
      boolean hasNewManifests,
      int states,
      @Nullable String orphansLeft) {}

  /**
   * @param here the time by this machine's clock
   */
  public static Done run(Table table, RetentionPolicy policy, Instant here) {
    Instant now = StoreClock.notAhead(table, here);
    long snapshots = count(table);
    int states = new HistoryBranches(table).dropExpired(policy, now);
    boolean expires =
        policy.kept() != null && Orphans.mayDeleteFilesOf(table) && CarriedFacts.keep(table);
    long files = expires ? expire(table, policy, now) : 0;
    boolean hasNewManifests = rewriteManifests(table);
    long expired = snapshots - count(table);
    Orphans.Found orphans = Orphans.find(table, now.minus(policy.orphansKept()));
    delete(table, orphans.files());
    return new Done(
        expired, files, orphans.files().size(), hasNewManifests, states, orphans.obstacle());
  }

  private static long count(Table table) {
    table.refresh();
    long count = 0;
    for (Snapshot ignored : table.snapshots()) {
      count++;
    }
    return count;
  }

  /**
   * What a consumer of the change feed has still to read is kept, however old it is, and so is the
   * way back to before a foreign commit.
   */
  private static long expire(Table table, RetentionPolicy policy, Instant now) {
    long old = now.minus(policy.kept()).toEpochMilli();
    List<String> expired = Collections.synchronizedList(new ArrayList<>());
    table
        .expireSnapshots()
        .expireOlderThan(
            Math.min(old, Math.min(Positions.fenceMillis(table), Lineage.fenceMillis(table))))
        .retainLast(policy.snapshots())
        .planWith(ThreadPools.getWorkerPool())
        .deleteWith(expired::add)
        .commit();
    table.refresh(); // a commit since then may have taken files in again
    List<String> unneeded = KnownFiles.of(table).unneeded(expired);
    delete(table, unneeded);
    return unneeded.size();
  }

  private static void delete(Table table, List<String> files) {
    CatalogUtil.deleteFiles(table.io(), files, "file", true);
  }

  private static boolean rewriteManifests(Table table) {
    Snapshot head = table.currentSnapshot();
    return head != null
        && head.allManifests(table.io()).size() > MOST_MANIFESTS
        && Lineage.of(table, head.snapshotId()).isKnown()
        && new Commits(table).make(new ManifestRewrite()).isCommitted();
  }
}
