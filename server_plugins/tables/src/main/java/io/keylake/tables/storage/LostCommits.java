package io.keylake.tables.storage;

import io.keylake.tables.outcomes.CertainOperations;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.ExpireSnapshots;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * Commits whose manifest list or manifests are gone from the store: nobody can read them, and what
 * else they named is not known.
 *
 * @param held those that a branch or tag has
 * @param left the others, as after a rollback
 */
record LostCommits(List<Snapshot> held, List<Snapshot> left) {
  static LostCommits of(Table table) {
    Set<Long> referenced = new HashSet<>();
    for (SnapshotRef each : table.refs().values()) {
      SnapshotUtil.ancestorIds(table.snapshot(each.snapshotId()), table::snapshot)
          .forEach(referenced::add);
    }
    List<Snapshot> held = new ArrayList<>();
    List<Snapshot> left = new ArrayList<>();
    for (Snapshot each : table.snapshots()) {
      if (!isReadable(table, each)) {
        (referenced.contains(each.snapshotId()) ? held : left).add(each);
      }
    }
    return new LostCommits(held, left);
  }

  private static boolean isReadable(Table table, Snapshot commit) {
    try {
      return commit.allManifests(table.io()).stream()
          .allMatch(manifest -> table.io().newInputFile(manifest.path()).exists());
    } catch (NotFoundException e) {
      return false;
    }
  }

  /** Takes those out of the metadata that no branch has; their files become orphans. */
  void forget(Table table) {
    if (!left.isEmpty()) {
      ExpireSnapshots expiry = CertainOperations.of(table).expireSnapshots();
      left.forEach(each -> expiry.expireSnapshotId(each.snapshotId()));
      expiry.cleanupLevel(ExpireSnapshots.CleanupLevel.NONE).commit();
      table.refresh();
    }
  }

  /** The reason why files cannot be deleted; null where they can. */
  @Nullable String obstacle() {
    if (held.isEmpty()) {
      return null;
    }
    Snapshot newest = held.get(held.size() - 1);
    return "commit %d names files that are gone, such as its manifest list %s: put them back from a backup, or roll back to a commit before it"
        .formatted(newest.snapshotId(), newest.manifestListLocation());
  }
}
