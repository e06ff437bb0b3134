package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteSummary;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * Brings what a branch has and main has not to main, all of it or nothing, and no file is opened:
 *
 * <ol>
 *   <li>The base is the newest commit that both have, or that was published before.
 *   <li>Where main still stands there, it moves to where the branch stands.
 *   <li>Otherwise the files that the branch's commits have written are added to main, commit by
 *       commit; their versions say what is newer.
 * </ol>
 *
 * @param base null where main has no commit
 * @param head where the branch stands
 */
public record Publication(Table table, String branch, Long base, long head) {
  /**
   * What came of it.
   *
   * @param overlap what both sides have written since the base
   */
  public record Done(long snapshotId, int commits, boolean isFastForward, Overlap overlap) {}

  public static Publication of(Table table, String branch) {
    Long head = new CommitLog(table, branch).headId();
    Long main = new CommitLog(table, null).headId();
    Set<Long> onMain = new HashSet<>();
    if (main != null) {
      for (Snapshot each : SnapshotUtil.ancestorsOf(main, table::snapshot)) {
        onMain.add(each.snapshotId());
        String published = each.summary().get(WriteSummary.PUBLISHED_OF);
        if (published != null) {
          onMain.add(Long.valueOf(published));
        }
      }
    }
    for (Snapshot each : SnapshotUtil.ancestorsOf(head, table::snapshot)) {
      if (onMain.contains(each.snapshotId())) {
        return new Publication(table, branch, each.snapshotId(), head);
      }
    }
    if (main == null) {
      return new Publication(table, branch, null, head);
    }
    throw new KeylakeException(
        NOT_FOUND,
        "the commit that branch '%s' of %s came from has expired; write its rows to main instead"
            .formatted(branch, table.name()));
  }

  /** The commits that main has not. */
  public CommitRange commits() {
    return CommitRange.of(table, base == null ? CommitRange.BEGINNING : base, head);
  }

  /**
   * Publishes.
   *
   * @param report of the checks, as JSON
   */
  public Done publish(String report) {
    List<Snapshot> writes = commits().writes();
    if (writes.isEmpty()) {
      throw new KeylakeException(
          NOT_FOUND,
          "branch '%s' of %s has no commit that main has not; there is nothing to publish"
              .formatted(branch, table.name()));
    }
    Snapshot main = new CommitLog(table, null).head();
    boolean isFastForward = base == null ? main == null : base.equals(mainId(main));
    Overlap overlap =
        isFastForward
            ? Overlap.NONE
            : Overlap.of(
                table, writes, CommitRange.of(table, baseOnMain(), main.snapshotId()).writes());
    Transaction all = table.newTransaction();
    if (!isFastForward) {
      CopiedCommits.of(table, commits(), main).addTo(all, SnapshotRef.MAIN_BRANCH, main);
    }
    AppendFiles mark = all.newFastAppend();
    WriteSummary.published(head, report, highestVersion()).forEach(mark::set);
    mark.validateWith(Lineage.validator(table, ancestors -> true));
    if (isFastForward) {
      mark.toBranch(branch);
    }
    mark.commit();
    if (isFastForward) {
      all.manageSnapshots().fastForwardBranch(SnapshotRef.MAIN_BRANCH, branch).commit();
    }
    try {
      all.commitTransaction();
    } catch (CommitFailedException | ValidationException | IllegalArgumentException e) {
      throw new KeylakeException(
          COMMIT_CONFLICT,
          "publishing branch '%s' of %s lost against another commit (%s); publish again"
              .formatted(branch, table.name(), e.getMessage()));
    }
    table.refresh();
    return new Done(table.currentSnapshot().snapshotId(), writes.size(), isFastForward, overlap);
  }

  /** Of both lines: where versions are commit times, none may come that is lower. */
  private Long highestVersion() {
    return Stream.of(new CommitLog(table, null), new CommitLog(table, branch))
        .flatMap(log -> log.highestVersion().stream())
        .max(Comparator.naturalOrder())
        .orElse(null);
  }

  private static Long mainId(Snapshot main) {
    return main == null ? null : main.snapshotId();
  }

  /**
   * The commit of main with which it had all of the base, which lies on the branch if published.
   */
  public long baseOnMain() {
    Snapshot main = new CommitLog(table, null).head();
    if (base == null || main == null) {
      return CommitRange.BEGINNING;
    }
    for (Snapshot each : SnapshotUtil.ancestorsOf(main.snapshotId(), table::snapshot)) {
      if (String.valueOf(base).equals(each.summary().get(WriteSummary.PUBLISHED_OF))) {
        return each.snapshotId();
      }
    }
    return base;
  }
}
