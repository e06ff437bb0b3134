package io.keylake.tables.history;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.Snapshot;

/**
 * The commits of a branch that are undone. An undo counts like any other commit: one that is undone
 * itself takes nothing back, so the commits that it took back have their effect again.
 */
public final class UndoneCommits {
  private final List<Undo> newestFirst = new ArrayList<>();

  /** An undo, by its place in the list of commits. */
  private record Undo(int at, long snapshotId, List<Long> undone) {}

  /**
   * @param newestFirst the commits of a branch, or its newest ones
   */
  public UndoneCommits(List<Snapshot> newestFirst) {
    for (int at = 0; at < newestFirst.size(); at++) {
      Snapshot commit = newestFirst.get(at);
      List<Long> undone = WriteSummary.undone(commit);
      if (!undone.isEmpty()) {
        this.newestFirst.add(new Undo(at, commit.snapshotId(), undone));
      }
    }
  }

  /** The undone ones among the commits of a range, as the range alone tells. */
  public static Set<Long> in(CommitRange range) {
    List<Snapshot> newestFirst = new ArrayList<>(range.commits());
    Collections.reverse(newestFirst);
    return new UndoneCommits(newestFirst).from(0, List.of());
  }

  /**
   * The undone commits where the branch stands at one of its commits.
   *
   * @param at its place in the list
   * @param more commits that one more undo takes back
   */
  public Set<Long> from(int at, Collection<Long> more) {
    Set<Long> undone = new HashSet<>(more);
    for (Undo each : newestFirst) {
      if (each.at() >= at && !undone.contains(each.snapshotId())) {
        undone.addAll(each.undone());
      }
    }
    return undone;
  }
}
