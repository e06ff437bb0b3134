package io.keylake.tables.compaction;

import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Parent;
import io.keylake.tables.history.WriteSummary;
import java.util.List;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Snapshot;
import org.jspecify.annotations.Nullable;

/**
 * Records which rows are superseded. Commits that came meanwhile are no hindrance, unless they took
 * away what supersedes; what they added is settled next time. It gives way where a settled file is
 * not there any more.
 *
 * @param branch null for main
 */
public record SettlementChange(@Nullable String branch, SettledBuckets settled) implements Change {
  @Override
  public void addTo(Attempt attempt) {
    if (!holds(attempt.parent(branch))) {
      throw Attempt.stale();
    }
    RowDelta delta =
        attempt
            .transaction()
            .newRowDelta()
            .validateFromSnapshot(settled.plannedAt())
            .validateDataFilesExist(settled.locations())
            .validateDeletedFiles();
    settled.added().forEach(delta::addDeletes);
    settled.replaced().forEach(delta::removeDeletes);
    attempt.commit(
        branch,
        delta,
        parent -> {
          if (!holds(parent)) {
            throw Attempt.stale();
          }
          boolean isSafe = parent.is(settled.plannedAt()) && settled.isSafeForPlainReads();
          return CommitSummary.of(
              WriteSummary.settled(
                  settled.rows(), settled.state(), parent.highestVersion(), isSafe));
        });
  }

  /**
   * The snapshot that was looked at is still below, and no commit since then has taken files out.
   */
  private boolean holds(Parent parent) {
    for (Snapshot each : parent.commits()) {
      if (each.snapshotId() == settled.plannedAt()) {
        return true;
      }
      if (WriteSummary.isUndo(each) || WriteSummary.isFileChange(each)) {
        return false;
      }
    }
    return false;
  }

  @Override
  public boolean isStale(Attempt attempt) {
    return !holds(attempt.parent(branch));
  }

  @Override
  public List<String> written() {
    return settled.added().stream().map(DeleteFile::location).distinct().toList();
  }
}
