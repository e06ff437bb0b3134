package io.keylake.tables.storage;

import io.keylake.tables.Backoff;
import io.keylake.tables.Machine;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.commits.CarriedFacts;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.ManifestRewrite;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.manifests.ManifestLayout;
import io.keylake.tables.outcomes.CertainOperations;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.ExpireSnapshots;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.jspecify.annotations.Nullable;

/**
 * Does what is left when files have been merged: snapshots expire, and files that nobody needs are
 * deleted, as the table's {@link RetentionPolicy} says.
 */
public final class Housekeeping {
  private Housekeeping() {}

  /**
   * The report of what was done.
   *
   * @param snapshots that expired
   * @param files of expired snapshots that were deleted: data, manifests and lists of them
   * @param metadataFiles of commits before the last ones, which the table's metadata does not name
   * @param orphans files that no snapshot knew
   * @param states archived states that were dropped
   * @param orphansLeft why orphans were not looked for; null where they were
   */
  public record Done(
      long snapshots,
      long files,
      long metadataFiles,
      long orphans,
      boolean hasNewManifests,
      int states,
      @Nullable String orphansLeft) {
    private Done withExpired(int more) {
      return new Done(
          snapshots + more, files, metadataFiles, orphans, hasNewManifests, states, orphansLeft);
    }
  }

  /**
   * @param here the time by this machine's clock
   */
  public static Done run(Table table, RetentionPolicy policy, Instant here) {
    try {
      return cleaned(table, policy, here);
    } catch (NotFoundException e) {
      LostCommits lost = LostCommits.of(table);
      if (lost.obstacle() != null) {
        return new Done(0, 0, 0, 0, false, 0, lost.obstacle());
      }
      lost.forget(table);
      return cleaned(table, policy, here).withExpired(lost.left().size());
    }
  }

  private static Done cleaned(Table table, RetentionPolicy policy, Instant here) {
    Instant now = StoreClock.notAhead(table, here);
    long snapshots = count(table);
    int states = new HistoryBranches(table).dropExpired(policy, now);
    boolean mayDelete = Orphans.mayDeleteFilesOf(table);
    boolean expires = policy.expires() && mayDelete && CarriedFacts.keep(table);
    long files = expires ? expire(table, policy, now) : 0;
    boolean hasNewManifests = rewriteManifests(table);
    long expired = snapshots - count(table);
    long metadataFiles = mayDelete ? OldMetadata.delete(table) : 0;
    Orphans.OrphanFiles orphans = Orphans.find(table, now.minus(policy.orphansKept()));
    delete(table, orphans.files());
    return new Done(
        expired,
        files,
        metadataFiles,
        orphans.files().size(),
        hasNewManifests,
        states,
        orphans.obstacle());
  }

  private static long count(Table table) {
    table.refresh();
    long count = 0;
    for (Snapshot ignored : table.snapshots()) {
      count++;
    }
    return count;
  }

  /** Expires what the policy lets go, with the branches and tags whose own time has passed. */
  private static long expire(Table table, RetentionPolicy policy, Instant now) {
    List<String> expired = Collections.synchronizedList(new ArrayList<>());
    Backoff.retry(
        table,
        "the expiry",
        () -> {
          expired.clear();
          expireOnce(table, Expiry.of(table, policy, now), expired);
          return expired;
        });
    List<String> unneeded = KnownFiles.of(table).unneeded(expired);
    delete(table, unneeded);
    return unneeded.size();
  }

  private static void expireOnce(Table table, Set<Long> snapshots, List<String> files) {
    ExpireSnapshots expiry =
        CertainOperations.of(table)
            .expireSnapshots()
            .expireOlderThan(0)
            .retainLast(1)
            .planWith(Machine.here().workers())
            .deleteWith(files::add);
    snapshots.forEach(expiry::expireSnapshotId);
    try {
      expiry.commit();
    } catch (IllegalArgumentException e) {
      throw new CommitFailedException(e, "A branch or a tag was made of what expires");
    }
  }

  private static void delete(Table table, List<String> files) {
    CatalogUtil.deleteFiles(table.io(), files, "file", true);
  }

  /** A plan opens the manifests of commits whatever it reads, so many of them are written again. */
  private static boolean rewriteManifests(Table table) {
    Snapshot head = table.currentSnapshot();
    if (head == null || !Lineage.of(table, head.snapshotId()).isKnown()) {
      return false;
    }
    return ManifestLayout.of(table, head.dataManifests(table.io()))
        .due()
        .map(due -> new Commits(table).make(new ManifestRewrite(due)).isCommitted())
        .orElse(false);
  }
}
