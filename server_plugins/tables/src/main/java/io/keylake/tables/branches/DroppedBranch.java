package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;

/**
 * Removes a branch. Its commits can be read by their ids until they expire; files that another
 * branch has stay.
 */
public record DroppedBranch(String branch) implements Change {
  @Override
  public void addTo(Attempt attempt) {
    Table table = attempt.transaction().table();
    SnapshotRef ref = table.refs().get(branch);
    if (ref == null) {
      throw new KeylakeException(
          NOT_FOUND,
          "table %s has no branch '%s'; its branches and tags are %s"
              .formatted(table.name(), branch, table.refs().keySet()));
    }
    if (ref.isTag()) {
      throw new KeylakeException(
          DEFINITION,
          "'%s' is a tag of %s, not a branch; ALTER TABLE ... DROP TAG drops it"
              .formatted(branch, table.name()));
    }
    if (branch.equals(SnapshotRef.MAIN_BRANCH)) {
      throw new KeylakeException(
          DEFINITION,
          "main is the table itself and cannot be dropped; drop the table %s instead"
              .formatted(table.name()));
    }
    if (HistoryBranches.isState(branch)) {
      throw new KeylakeException(
          DEFINITION,
          "branch '%s' of %s is an archived state; the RetentionPolicy drops archived states (history_days, history_months)"
              .formatted(branch, table.name()));
    }
    attempt.references().removeBranch(branch).commit();
  }

  /** Nothing of the branch is read or relied on. */
  @Override
  public boolean takesForeign() {
    return true;
  }

  @Override
  public KeylakeException lost(String why) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "dropping branch '%s' lost against other commits (%s); drop it again"
            .formatted(branch, why));
  }
}
