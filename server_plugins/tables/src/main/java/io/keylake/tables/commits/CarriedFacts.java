package io.keylake.tables.commits;

import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteSummary;
import java.util.Map;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * A commit that only says again what those before it have said. It is made where the newest commit
 * of a branch is by another engine, which has not carried it on, and those before it are to expire.
 *
 * @param branch null for main
 */
public record CarriedFacts(@Nullable String branch) implements Change {
  /**
   * Makes such commits on all branches that need them. Others have to be looked at by a user.
   *
   * @return false where one lost against other commits: nothing may expire, until the next try
   */
  public static boolean keep(Table table) {
    boolean isKept = true;
    for (Map.Entry<String, SnapshotRef> each : table.refs().entrySet()) {
      Snapshot head = table.snapshot(each.getValue().snapshotId());
      if (each.getValue().isBranch()
          && !WriteSummary.isOwn(head)
          && Lineage.of(table, head.snapshotId()).isKnown()) {
        isKept &= new Commits(table).make(new CarriedFacts(each.getKey())).isCommitted();
      }
    }
    return isKept;
  }

  @Override
  public void addTo(Attempt attempt) {
    attempt.commit(
        branch,
        attempt.transaction().newFastAppend(),
        parent -> CommitSummary.ofSameRows(parent, "what earlier commits said"));
  }
}
