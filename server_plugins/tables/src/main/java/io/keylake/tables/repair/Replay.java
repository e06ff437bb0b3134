package io.keylake.tables.repair;

import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.UndoneCommits;
import io.keylake.tables.history.WriteSummary;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The commits that have to be replayed to tell what a branch holds once more of them are undone:
 *
 * <pre>
 *   a   b   c   undo(b)   d          now undo(undo(b)) is planned: b counts again
 *       |---------------------|      replayed after a, the newest commit at which the same
 *                                    of the commits so far were undone as will be
 * </pre>
 *
 * @param commits those to replay; what was there before them is known exactly
 * @param undone the commits that are undone then
 * @param changed the commits that are undone now and not then, or then and not now
 */
record Replay(CommitRange commits, Set<Long> undone, Set<Long> changed) {
  Replay {
    undone = Set.copyOf(undone);
    changed = Set.copyOf(changed);
  }

  /**
   * @param head where the branch stands
   * @param more the commits that are to be undone
   */
  static Replay of(Table table, long head, List<Long> more) {
    List<Snapshot> newestFirst = kept(table, head);
    UndoneCommits undos = new UndoneCommits(newestFirst);
    Set<Long> undone = undos.from(0, more);
    Set<Long> changed = difference(undos.from(0, List.of()), undone);
    Set<Long> undoneSoFar = new HashSet<>(undone);
    for (int at = 0; at < newestFirst.size(); at++) {
      long commit = newestFirst.get(at).snapshotId();
      if (undos.from(at, List.of()).equals(undoneSoFar)) {
        return new Replay(range(commit, newestFirst.subList(0, at)), undone, changed);
      }
      undoneSoFar.remove(commit);
    }
    Snapshot oldest = newestFirst.get(newestFirst.size() - 1);
    if (!isFromTheFirst(table, oldest)) {
      throw new KeylakeException(
          SNAPSHOT_EXPIRED,
          "commit %d of %s has expired, and its files are needed to tell what is there without the undone commits; only commits after %d of %s can be undone"
              .formatted(
                  undoneSoFar.stream().findFirst().orElse(oldest.parentId()),
                  table.name(),
                  oldest.snapshotId(),
                  Instant.ofEpochMilli(oldest.timestampMillis())));
    }
    return new Replay(range(null, newestFirst), undone, changed);
  }

  /**
   * The commits of a branch that have not expired, newest first. What a foreign one left is no part
   * of any answer: it was adopted, or had no rows.
   */
  private static List<Snapshot> kept(Table table, long head) {
    List<Snapshot> newestFirst = new ArrayList<>();
    for (Snapshot each = table.snapshot(head); each != null; ) {
      if (WriteSummary.isOwn(each)) {
        newestFirst.add(each);
      }
      each = each.parentId() == null ? null : table.snapshot(each.parentId());
    }
    return newestFirst;
  }

  /** No commit before this one has expired. */
  private static boolean isFromTheFirst(Table table, Snapshot commit) {
    Snapshot each = commit;
    while (each != null && each.parentId() != null) {
      each = table.snapshot(each.parentId());
    }
    return each != null;
  }

  private static CommitRange range(@Nullable Long after, List<Snapshot> newestFirst) {
    List<Snapshot> commits = new ArrayList<>(newestFirst);
    Collections.reverse(commits);
    return new CommitRange(after, commits);
  }

  private static Set<Long> difference(Set<Long> one, Set<Long> other) {
    Set<Long> difference = new HashSet<>(one);
    difference.removeAll(other);
    other.stream().filter(each -> !one.contains(each)).forEach(difference::add);
    return difference;
  }
}
