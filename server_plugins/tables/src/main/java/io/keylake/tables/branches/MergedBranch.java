package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteSummary;
import java.util.UUID;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.ManageSnapshots;
import org.apache.iceberg.Snapshot;
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

  static final String SOURCE_MILLIS = "keylake.merged_of_time_ms";

  /** Whether there is such a branch, and main has moved since it was made. */
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
          NOT_FOUND,
          "table %s has no commit yet; there is nothing to merge".formatted(table.name()));
    }
    MergedBranch branch = new MergedBranch(NAME + "-" + UUID.randomUUID(), head);
    table.manageSnapshots().createBranch(branch.working, head).commit();
    return branch;
  }

  /** Puts the work in the place of what the branch was, and gives its snapshot. */
  public long publish(Table table) {
    Snapshot of = table.snapshot(source);
    AppendFiles mark = table.newFastAppend();
    WriteSummary.merged(source).forEach(mark::set);
    mark.set(SOURCE_MILLIS, String.valueOf(of.timestampMillis()));
    mark.validateWith(Lineage.validator(table, ancestors -> true));
    mark.toBranch(working).commit();
    table.refresh();
    long snapshot = table.refs().get(working).snapshotId();
    ManageSnapshots refs = table.manageSnapshots();
    if (table.refs().containsKey(NAME)) {
      refs.replaceBranch(NAME, snapshot);
    } else {
      refs.createBranch(NAME, snapshot);
    }
    refs.removeBranch(working).commit();
    return snapshot;
  }

  /** Forgets the work. */
  public void abandon(Table table) {
    table.refresh();
    if (table.refs().containsKey(working)) {
      table.manageSnapshots().removeBranch(working).commit();
    }
  }
}
