package io.keylake.tables;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.Expressions;
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
  /** What came of it. */
  public record Done(long snapshotId, int commits, boolean isFastForward) {}

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
    List<Snapshot> writes =
        commits().commits().stream().filter(each -> !WriteSummary.isTidying(each)).toList();
    if (writes.isEmpty()) {
      throw new KeylakeException(
          NOT_FOUND,
          "branch '%s' of %s has no commit that main has not; there is nothing to publish"
              .formatted(branch, table.name()));
    }
    Long main = new CommitLog(table, null).headId();
    boolean isFastForward = base == null ? main == null : base.equals(main);
    Transaction all = table.newTransaction();
    if (!isFastForward) {
      addFiles(all);
    }
    AppendFiles mark = all.newFastAppend();
    WriteSummary.published(head, report, highestVersion()).forEach(mark::set);
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
    return new Done(table.currentSnapshot().snapshotId(), writes.size(), isFastForward);
  }

  /** Of both lines: where versions are commit times, none may come that is lower. */
  private Long highestVersion() {
    return Stream.of(new CommitLog(table, null), new CommitLog(table, branch))
        .flatMap(log -> log.highestVersion().stream())
        .max(Comparator.naturalOrder())
        .orElse(null);
  }

  private void addFiles(Transaction all) {
    FileListing listing = new FileListing(table, Expressions.alwaysTrue(), null);
    Long before = base;
    for (Snapshot commit : commits().commits()) {
      if (!WriteSummary.isTidying(commit)) {
        if (!commit.operation().equals(DataOperations.APPEND)) {
          throw new KeylakeException(
              UNSUPPORTED,
              "commit %d of branch '%s' overwrites, and main has moved since the branch was made; overwrite on main instead"
                  .formatted(commit.snapshotId(), branch));
        }
        AppendFiles append = all.newAppend();
        listing
            .writtenIn(new CommitRange(before, List.of(commit)))
            .forEach(task -> append.appendFile(task.file()));
        WriteSummary.copied(commit).forEach(append::set);
        append.commit();
      }
      before = commit.snapshotId();
    }
  }
}
