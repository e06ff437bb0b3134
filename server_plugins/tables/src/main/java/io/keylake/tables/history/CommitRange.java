package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;

import io.keylake.tables.KeylakeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.StreamSupport;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The commits after one and up to another, of one line of descent.
 *
 * @param after the commit before them; null for the time before the first one
 * @param commits oldest first
 */
public record CommitRange(@Nullable Long after, List<Snapshot> commits) {
  /** The number in place of a commit: the time before the first one. */
  public static final long BEGINNING = 0;

  public CommitRange {
    commits = List.copyOf(commits);
  }

  /**
   * Checks that all of the commits are there, and refuses a foreign one that changed files. Of
   * others that keylake did not make, nothing is to be told.
   *
   * @param after a commit, or {@link #BEGINNING}
   */
  public static CommitRange of(Table table, long after, long until) {
    List<Snapshot> commits = line(table, after, until);
    if (!commits.isEmpty()) {
      Lineage.check(table, until);
    }
    commits.removeIf(commit -> !WriteSummary.isOwn(commit));
    return new CommitRange(after == BEGINNING ? null : after, commits);
  }

  /**
   * One commit, which has to be there, and one of a branch.
   *
   * @param branch null for main
   */
  public static CommitRange ofOne(Table table, @Nullable String branch, long commit) {
    Snapshot one = there(table, commit);
    Long head = new CommitLog(table, branch).headId();
    if (head == null || !SnapshotUtil.isAncestorOf(head, commit, table::snapshot)) {
      throw new KeylakeException(
          DEFINITION,
          "commit %d is not one of %s of %s; its history has those that are"
              .formatted(
                  commit, branch == null ? "main" : "branch '" + branch + "'", table.name()));
    }
    Long parent = one.parentId();
    if (parent != null && table.snapshot(parent) == null) {
      throw new KeylakeException(
          SNAPSHOT_EXPIRED,
          "commit %d of %s stays: the commit before it has expired, so that nobody knows any more what it has changed"
              .formatted(commit, table.name()));
    }
    return of(table, parent == null ? BEGINNING : parent, commit);
  }

  /** The commits after one and up to another, whoever made them, oldest first. */
  public static List<Snapshot> line(Table table, long after, long until) {
    if (after != BEGINNING) {
      OlderDefinition.check(table, there(table, after));
    }
    Snapshot each = there(table, until);
    OlderDefinition.check(table, each);
    List<Snapshot> commits = new ArrayList<>();
    while (each.snapshotId() != after) {
      commits.add(each);
      if (each.parentId() == null) {
        if (!WriteSummary.isFirst(each)) {
          throw lost(table, each);
        }
        if (after == BEGINNING) {
          break;
        }
        throw unrelated(table, after, until);
      }
      each = there(table, each.parentId());
    }
    Collections.reverse(commits);
    return commits;
  }

  /**
   * A branch that stood at one commit and stands at another shows the same rows, because only
   * compactions and the like lie between.
   *
   * @param before a commit, or {@link #BEGINNING}
   * @param now a commit, or {@link #BEGINNING}
   */
  public static boolean isTidiedOnly(Table table, long before, long now) {
    long each = now;
    while (each != before) {
      Snapshot commit = table.snapshot(each);
      if (commit == null || !WriteSummary.isTidying(commit)) {
        return false;
      }
      Long parent = commit.parentId();
      each = parent == null ? BEGINNING : parent;
    }
    return true;
  }

  /** A commit, which has to be there. */
  static Snapshot there(Table table, long snapshotId) {
    Snapshot snapshot = table.snapshot(snapshotId);
    if (snapshot == null) {
      String oldest =
          StreamSupport.stream(table.snapshots().spliterator(), false)
              .findFirst()
              .map(first -> "%d of %s".formatted(first.snapshotId(), committedAt(first)))
              .orElse("none");
      throw new KeylakeException(
          SNAPSHOT_EXPIRED,
          "commit %d of %s has expired, or never was, and its files may be gone; the oldest that is kept is %s"
              .formatted(snapshotId, table.name(), oldest));
    }
    return snapshot;
  }

  private static KeylakeException lost(Table table, Snapshot oldest) {
    return new KeylakeException(
        SNAPSHOT_EXPIRED,
        "the commits of %s before commit %d have expired, and their files may be gone; the oldest that is kept is of %s"
            .formatted(table.name(), oldest.snapshotId(), committedAt(oldest)));
  }

  private static Instant committedAt(Snapshot snapshot) {
    return Instant.ofEpochMilli(snapshot.timestampMillis());
  }

  private static KeylakeException unrelated(Table table, long after, long until) {
    boolean isReversed = SnapshotUtil.isAncestorOf(after, until, table::snapshot);
    return new KeylakeException(
        DEFINITION,
        isReversed
            ? "commit %d comes after commit %d; exchange them".formatted(after, until)
            : "commit %d is not before commit %d but belongs to another branch; give two commits of one branch"
                .formatted(after, until));
  }

  /** All snapshots of the range, and the one before it. */
  public List<Snapshot> snapshots(Table table) {
    List<Snapshot> snapshots = new ArrayList<>(commits);
    if (after != null) {
      snapshots.add(table.snapshot(after));
    }
    return snapshots;
  }

  public List<Long> ids() {
    return commits.stream().map(Snapshot::snapshotId).toList();
  }

  /** The newest of the commits; null where there is none. */
  public @Nullable Snapshot last() {
    return commits.isEmpty() ? null : commits.get(commits.size() - 1);
  }

  /** The commits that have changed an answer. */
  public List<Snapshot> writes() {
    return commits.stream().filter(commit -> !WriteSummary.isTidying(commit)).toList();
  }

  /** The newest write among them; the newest commit where none is a write. */
  public @Nullable Snapshot lastWrite() {
    List<Snapshot> writes = writes();
    return writes.isEmpty() ? last() : writes.get(writes.size() - 1);
  }

  /**
   * The commit where a batch of so many writes ends: at the last of them, or at the compactions
   * that follow it.
   *
   * @return a snapshot id; null where there is no commit
   */
  public @Nullable Long endOfFirst(int writes) {
    Long end = null;
    int taken = 0;
    for (Snapshot commit : commits) {
      taken += WriteSummary.isTidying(commit) ? 0 : 1;
      if (taken > writes) {
        break;
      }
      end = commit.snapshotId();
    }
    return end;
  }

  /** Each commit as a range of its own. */
  public List<CommitRange> apart() {
    List<CommitRange> each = new ArrayList<>();
    Long before = after;
    for (Snapshot commit : commits) {
      each.add(new CommitRange(before, List.of(commit)));
      before = commit.snapshotId();
    }
    return each;
  }
}
