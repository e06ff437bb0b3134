package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOTHING_TO_DO;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.WriteSummary;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.ManageSnapshots;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;

/**
 * The branch {@value #NAME}, in which every key stands once, for engines that know nothing of keyed
 * tables:
 *
 * <ol>
 *   <li>{@link #begin}: a branch of its own, at what main has now.
 *   <li>Everything in it is compacted, tombstones and all. Nobody looks at it meanwhile.
 *   <li>{@link #publish}: a snapshot that says what it was made of; the branch takes its place in
 *       one commit.
 * </ol>
 *
 * @param working the branch that is worked on
 * @param source the snapshot of main that it is made of
 */
public record MergedBranch(String working, long source) {
  public static final String NAME = "merged";

  /** The snapshot of main that a snapshot of the branch is made of: what came later is its lag. */
  public static final String SOURCE = WriteSummary.MERGED_OF;

  public static final String SOURCE_MILLIS = "keylake.merged_of_time_ms";

  /** The table has a merged branch, and main has moved since it was made. */
  public static boolean isStale(Table table) {
    SnapshotRef merged = table.refs().get(NAME);
    Long head = new CommitLog(table, null).headId();
    return merged != null
        && !String.valueOf(head).equals(table.snapshot(merged.snapshotId()).summary().get(SOURCE));
  }

  public static MergedBranch begin(Table table) {
    Long head = new CommitLog(table, null).headId();
    if (head == null) {
      throw new KeylakeException(
          NOTHING_TO_DO,
          "table %s has no commit yet; there is nothing to merge".formatted(table.name()));
    }
    MergedBranch branch = new MergedBranch(NAME + "-" + UUID.randomUUID(), head);
    Commits.Result begun =
        new Commits(table)
            .make(attempt -> attempt.references().createBranch(branch.working, head).commit());
    if (!begun.isCommitted()) {
      throw lost(table);
    }
    return branch;
  }

  /** Puts the work in the place of what the branch was, and gives its snapshot. */
  public long publish(Table table) {
    Map<String, String> summary = new HashMap<>(WriteSummary.merged(source));
    summary.put(SOURCE_MILLIS, String.valueOf(table.snapshot(source).timestampMillis()));
    Commits.Result result =
        new Commits(table).make(attempt -> addTo(attempt, CommitSummary.of(summary)));
    if (!result.isCommitted()) {
      throw lost(table);
    }
    return result.lastSnapshotId();
  }

  private static KeylakeException lost(Table table) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "the branch '%s' of %s lost against other commits; merge again"
            .formatted(NAME, table.name()));
  }

  private void addTo(Attempt attempt, CommitSummary said) {
    long snapshot = attempt.commit(working, attempt.transaction().newFastAppend(), parent -> said);
    ManageSnapshots references = attempt.references();
    if (attempt.parent(working).headOf(NAME) != null) {
      references.replaceBranch(NAME, snapshot);
    } else {
      references.createBranch(NAME, snapshot);
    }
    references.removeBranch(working).commit();
  }

  /** Forgets the work. */
  public void abandon(Table table) {
    table.refresh();
    if (table.refs().containsKey(working)) {
      new Commits(table).make(attempt -> attempt.references().removeBranch(working).commit());
    }
  }
}
