package io.keylake.tables.commits;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOTHING_TO_DO;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Lineage;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * Makes a branch stand at one of its commits again. Later ones can be read by their ids until they
 * expire, and a second rollback goes forward to one of them, if nothing was committed meanwhile.
 *
 * @param branch null for main
 */
public record Rollback(@Nullable String branch, long to) implements Change {
  @Override
  public void addTo(Attempt attempt) {
    Table table = attempt.transaction().table();
    Long head = new CommitLog(table, branch).headId();
    if (head == null) {
      throw new KeylakeException(
          NOTHING_TO_DO,
          "table %s has no commit yet; there is nothing to roll back to".formatted(table.name()));
    }
    if (!isForward(table, head)) {
      CommitRange.line(table, to, head); // it has to be one of the branch
    }
    Lineage.check(table, to);
    attempt
        .references()
        .replaceBranch(branch == null ? SnapshotRef.MAIN_BRANCH : branch, to)
        .commit();
  }

  /** The branch stood at the commit before, and has stood only at earlier ones since. */
  private boolean isForward(Table table, long head) {
    if (table.snapshot(to) == null || !SnapshotUtil.isAncestorOf(to, head, table::snapshot)) {
      return false;
    }
    if (branch == null || branch.equals(SnapshotRef.MAIN_BRANCH)) {
      return table.history().stream().anyMatch(entry -> entry.snapshotId() == to);
    }
    return table.refs().entrySet().stream() // Iceberg keeps a history of main only
        .filter(ref -> !ref.getKey().equals(branch))
        .noneMatch(
            ref -> SnapshotUtil.isAncestorOf(ref.getValue().snapshotId(), to, table::snapshot));
  }

  @Override
  public KeylakeException lost(String why) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "the rollback to commit %d lost against other commits (%s); roll back again"
            .formatted(to, why));
  }
}
