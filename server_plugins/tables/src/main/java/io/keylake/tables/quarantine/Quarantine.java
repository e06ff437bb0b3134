package io.keylake.tables.quarantine;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.spec.SpecJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a table that writes have held back, because a condition of the write does not hold
 * for them. They lie on a branch that has nothing else:
 *
 * <pre>
 *   main       ──●──────────●──────────●
 *                 \
 *   quarantine     ○──●──●──●            ○ leaves out all files of main
 * </pre>
 *
 * <p>Each commit says the conditions of its write, and does not expire while the branch is there.
 *
 * @param head where the branch stands; null where nothing is held
 * @param commits those that have held rows back or mended them, oldest first
 * @param conditions of all of them, in their order
 */
public record Quarantine(
    Table table, @Nullable Long head, List<Snapshot> commits, List<String> conditions) {
  public static final String BRANCH = "quarantine";

  /** The conditions of a write, which none of the rows that a commit holds satisfies entirely. */
  static final String CONDITIONS = "keylake.conditions";

  private static final long FOR_EVER = Duration.ofDays(100 * 365).toMillis();

  public Quarantine {
    commits = List.copyOf(commits);
    conditions = List.copyOf(conditions);
  }

  /** The rows that a table holds now. */
  public static Quarantine of(Table table) {
    SnapshotRef ref = table.refs().get(BRANCH);
    if (ref == null) {
      return new Quarantine(table, null, List.of(), List.of());
    }
    List<Snapshot> commits = new ArrayList<>();
    Set<String> conditions = new LinkedHashSet<>();
    if (!isOne(SnapshotUtil.ancestorsOf(ref.snapshotId(), table::snapshot))) {
      throw foreign(table);
    }
    for (Snapshot each : SnapshotUtil.ancestorsOf(ref.snapshotId(), table::snapshot)) {
      if (isBegin(each)) {
        break;
      }
      String verb = each.summary().get(WriteSummary.VERB);
      if (!WriteSummary.isTidying(each) && !WriteSummary.isUndo(each) && !isTaking(verb)) {
        commits.add(0, each);
      }
    }
    commits.forEach(each -> conditions.addAll(conditions(each.summary())));
    return new Quarantine(table, ref.snapshotId(), commits, List.copyOf(conditions));
  }

  /** A branch of the table holds rows back. */
  public static boolean isOne(Table table, @Nullable String branch) {
    SnapshotRef ref = BRANCH.equals(branch) ? table.refs().get(BRANCH) : null;
    return ref != null && isOne(SnapshotUtil.ancestorsOf(ref.snapshotId(), table::snapshot));
  }

  /** The commits of a branch, newest first, are those of a quarantine. */
  static boolean isOne(Iterable<Snapshot> commits) {
    for (Snapshot each : commits) {
      if (isBegin(each)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isBegin(Snapshot commit) {
    return WriteSummary.CREATE_QUARANTINE.equals(commit.summary().get(WriteSummary.VERB));
  }

  /** A commit has taken rows out. */
  private static boolean isTaking(@Nullable String verb) {
    return WriteSummary.RELEASE.equals(verb) || WriteSummary.DISCARD.equals(verb);
  }

  /** The rows that it has, as they are stored: a key may be among them several times. */
  public long rows() {
    Snapshot snapshot = head == null ? null : table.snapshot(head);
    return snapshot == null
        ? 0
        : Long.parseLong(snapshot.summary().getOrDefault(SnapshotSummary.TOTAL_RECORDS_PROP, "0"));
  }

  /** The value columns that its commits have written. */
  List<String> columns() {
    Set<String> columns = new TreeSet<>();
    commits.forEach(each -> columns.addAll(CommitLog.Entry.of(each).columns()));
    return List.copyOf(columns);
  }

  private static KeylakeException foreign(Table table) {
    return new KeylakeException(
        DEFINITION,
        "table %s has a branch '%s' that somebody else has made, or has rolled back behind its beginning, and rows that fail a check would go to a branch of that name; rename or drop it, or write with on_failure='raise'"
            .formatted(table.name(), BRANCH));
  }

  /** The conditions that a commit says. */
  static List<String> conditions(Map<String, String> summary) {
    List<String> conditions = new ArrayList<>();
    SpecJson.parse(summary.getOrDefault(CONDITIONS, "[]"))
        .forEach(each -> conditions.add(each.asText()));
    return conditions;
  }

  /** Makes the branch, if it is not there. */
  static void begin(Attempt attempt) {
    Table table = attempt.transaction().table();
    if (!table.refs().containsKey(BRANCH)) {
      attempt
          .references()
          .createBranch(BRANCH)
          .setMaxSnapshotAgeMs(BRANCH, FOR_EVER)
          .setMaxRefAgeMs(BRANCH, FOR_EVER)
          .commit();
      leaveOutMain(attempt);
    } else if (!isOne(table, BRANCH)) {
      throw foreign(table);
    }
  }

  private static void leaveOutMain(Attempt attempt) {
    Table table = attempt.transaction().table();
    OverwriteFiles nothing =
        attempt.transaction().newOverwrite().overwriteByRowFilter(Expressions.alwaysTrue());
    WriteSummary summary =
        new WriteSummary(
            WriteSummary.CREATE_QUARANTINE, 0, null, null, List.of(), WriteLabels.NONE);
    attempt.commit(
        BRANCH,
        nothing,
        parent ->
            CommitSummary.of(summary.properties(true))
                .with(WriteSummary.REPLACES, Overwrite.json(table, Expressions.alwaysTrue()))
                .anew());
  }
}
