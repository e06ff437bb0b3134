package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.Machine;
import io.keylake.tables.spec.SpecJson;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/** The commits of one branch: read from its snapshots, newest first. */
@GuestApi
public final class CommitLog {
  private final Table table;
  private final String branch;

  /**
   * @param branch null for main
   */
  public CommitLog(Table table, @Nullable String branch) {
    this.table = table;
    this.branch = branch == null ? SnapshotRef.MAIN_BRANCH : branch;
  }

  /**
   * A commit as history shows it; what a foreign engine committed has no verb.
   *
   * @param watermarkMicros the event time up to which its stream is complete, as far as it said so
   * @param isUndone whether a later commit has taken its writes back
   * @param heldRows that the write has held back beside it; null of a commit without rows
   * @param lateRows of its rows that were late; null of a commit without rows
   */
  public record Entry(
      long snapshotId,
      @Nullable Long parentId,
      long committedAtMicros,
      @Nullable String verb,
      @Nullable Long rows,
      @Nullable Long minVersion,
      @Nullable Long maxVersion,
      List<String> columns,
      @Nullable String stream,
      @Nullable String writer,
      @Nullable String writeId,
      @Nullable String idempotencyKey,
      @Nullable Long files,
      @Nullable Long watermarkMicros,
      boolean isUndone,
      @Nullable Long heldRows,
      @Nullable Long lateRows) {
    public static Entry of(Snapshot snapshot) {
      Map<String, String> summary = snapshot.summary();
      List<String> columns = new ArrayList<>();
      SpecJson.parse(summary.getOrDefault(WriteSummary.COLUMNS, "[]"))
          .forEach(c -> columns.add(c.asText()));
      String stream = summary.get(WriteSummary.STREAM);
      return new Entry(
          snapshot.snapshotId(),
          snapshot.parentId(),
          snapshot.timestampMillis() * 1000,
          summary.get(WriteSummary.VERB),
          number(summary, WriteSummary.ROWS),
          number(summary, WriteSummary.MIN_VERSION),
          number(summary, WriteSummary.MAX_VERSION),
          columns,
          stream,
          summary.get(WriteSummary.WRITER),
          summary.get(WriteSummary.WRITE_ID),
          summary.get(WriteSummary.IDEMPOTENCY_KEY),
          Optional.ofNullable(number(summary, "added-data-files")).orElse(0L),
          Watermarks.of(snapshot).reached(stream == null ? "" : stream),
          false,
          Optional.ofNullable(number(summary, WriteSummary.HELD_ROWS)).orElse(0L),
          Optional.ofNullable(number(summary, WriteSummary.LATE_ROWS)).orElse(0L));
    }

    /** An entry of which nothing else is known any more. */
    public static Entry expired(long snapshotId, long committedAtMicros) {
      return new Entry(
          snapshotId,
          null,
          committedAtMicros,
          null,
          null,
          null,
          null,
          List.of(),
          null,
          null,
          null,
          null,
          null,
          null,
          false,
          null,
          null);
    }

    /** The commit has only merged or settled what was there. */
    public boolean isCompaction() {
      return WriteSummary.COMPACT.equals(verb) || WriteSummary.SETTLE.equals(verb);
    }

    private Entry undone() {
      return new Entry(
          snapshotId,
          parentId,
          committedAtMicros,
          verb,
          rows,
          minVersion,
          maxVersion,
          columns,
          stream,
          writer,
          writeId,
          idempotencyKey,
          files,
          watermarkMicros,
          true,
          heldRows,
          lateRows);
    }

    private static @Nullable Long number(Map<String, String> summary, String name) {
      String text = summary.get(name);
      return text == null ? null : Long.valueOf(text);
    }
  }

  /** Commits that fit, newest first, at most so many. */
  public List<Entry> entries(Predicate<Entry> fits, int atMost) {
    Snapshot head = head();
    return head == null
        ? List.of()
        : entries(SnapshotUtil.ancestorsOf(head.snapshotId(), table::snapshot), fits, atMost);
  }

  /**
   * The commits that the branch has and another commit does not have behind it, oldest first. After
   * a rollback there is none until the next commit.
   *
   * @param after a commit, or {@link CommitRange#BEGINNING} for all that are kept
   */
  public List<Entry> since(long after) {
    Long head = headId();
    if (after != CommitRange.BEGINNING) {
      CommitRange.there(table, after);
    }
    if (head == null || head == after) {
      return List.of();
    }
    List<Snapshot> newer = new ArrayList<>();
    for (Snapshot each : SnapshotUtil.ancestorsOf(head, table::snapshot)) {
      if (each.snapshotId() == after) {
        return oldestFirst(newer);
      }
      newer.add(each);
    }
    Set<Long> told = new HashSet<>();
    if (after != CommitRange.BEGINNING) { // rolled back, or of another branch
      SnapshotUtil.ancestorsOf(after, table::snapshot).forEach(each -> told.add(each.snapshotId()));
    }
    newer.removeIf(each -> told.contains(each.snapshotId()));
    return oldestFirst(newer);
  }

  private static List<Entry> oldestFirst(List<Snapshot> newestFirst) {
    List<Entry> entries = entries(newestFirst, entry -> true, Integer.MAX_VALUE);
    Collections.reverse(entries);
    return entries;
  }

  private static List<Entry> entries(
      Iterable<Snapshot> newestFirst, Predicate<Entry> fits, int atMost) {
    List<Entry> entries = new ArrayList<>();
    Set<Long> undone = new HashSet<>();
    for (Snapshot snapshot : newestFirst) {
      if (entries.size() >= atMost) {
        break;
      }
      boolean isUndone = undone.contains(snapshot.snapshotId());
      if (!isUndone) {
        undone.addAll(WriteSummary.undone(snapshot));
      }
      Entry entry = isUndone ? Entry.of(snapshot).undone() : Entry.of(snapshot);
      if (fits.test(entry)) {
        entries.add(entry);
      }
      if (WriteSummary.beginsBranch(entry.verb())) {
        break; // what is older is of main
      }
    }
    return entries;
  }

  /** The commit with an idempotency key, if its snapshot is still there. */
  public static Optional<Entry> withKey(Iterable<Snapshot> newestFirst, String key) {
    return entries(newestFirst, entry -> key.equals(entry.idempotencyKey()), 1).stream()
        .findFirst();
  }

  /**
   * The version of a commit made now, for tables whose versions are commit times: never below an
   * earlier one.
   */
  public long nextVersion() {
    long micros = PointInTime.micros(Machine.here().now());
    return highestVersion().map(highest -> Math.max(highest, micros)).orElse(micros);
  }

  /** The highest version of all commits. */
  public Optional<Long> highestVersion() {
    Snapshot head = head();
    return head == null
        ? Optional.empty()
        : Optional.ofNullable(
            HighestVersion.in(table)
                .of(SnapshotUtil.ancestorsOf(head.snapshotId(), table::snapshot)));
  }

  /** The snapshot that the branch stands at; null where nothing was ever written. */
  public @Nullable Long headId() {
    Snapshot head = head();
    return head == null ? null : head.snapshotId();
  }

  /** The newest snapshot of the branch; null where nothing was ever written. */
  public @Nullable Snapshot head() {
    SnapshotRef ref = table.refs().get(branch);
    if (ref == null) {
      if (!branch.equals(SnapshotRef.MAIN_BRANCH)) {
        throw noBranch(table.name(), branch, table.refs().keySet());
      }
      return null;
    }
    return table.snapshot(ref.snapshotId());
  }

  public static KeylakeException noBranch(String table, String branch, Set<String> branches) {
    return new KeylakeException(
        NOT_FOUND,
        "table %s has no branch '%s'; its branches are %s".formatted(table, branch, branches));
  }
}
