package io.keylake.tables.commits;

import io.keylake.tables.history.WriteSummary;
import java.util.List;
import org.apache.iceberg.ExpireSnapshots;
import org.apache.iceberg.Table;

/** Changes that only say something of other commits, without a look at files. */
final class LedgerChanges {
  private LedgerChanges() {}

  /** The writes of a commit are taken back. */
  static Change undo(String branch, long commit) {
    List<Long> undone = List.of(commit);
    return attempt ->
        attempt.commit(
            branch,
            attempt.transaction().newFastAppend(),
            parent -> CommitSummary.of(WriteSummary.undo(undone, 9L)).undoing(undone));
  }

  /** The writes of a commit are made again on a branch. */
  static Change copy(Table table, String branch, long commit, NumberSet sameAs) {
    return attempt ->
        attempt.commit(
            branch,
            attempt.transaction().newFastAppend(),
            parent ->
                CommitSummary.of(WriteSummary.copied(table.snapshot(commit), null)).sameAs(sameAs));
  }

  /** Only the heads of branches are left. */
  static void expire(Table table) {
    table
        .expireSnapshots()
        .expireOlderThan(Long.MAX_VALUE)
        .retainLast(1)
        .cleanupLevel(ExpireSnapshots.CleanupLevel.NONE)
        .commit();
    table.refresh();
  }
}
