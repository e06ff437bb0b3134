package io.keylake.tables.quarantine;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.spec.SpecJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
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
 * @param groups oldest first
 */
public record Quarantine(Table table, @Nullable Long head, List<HeldGroup> groups) {
  public static final String BRANCH = "quarantine";

  /** The conditions of a write, which none of the rows that a commit holds satisfies entirely. */
  static final String CONDITIONS = "keylake.conditions";

  private static final long FOR_EVER = Duration.ofDays(100 * 365).toMillis();

  public Quarantine {
    groups = List.copyOf(groups);
  }

  /** The rows that a table holds now. */
  public static Quarantine of(Table table) {
    SnapshotRef ref = table.refs().get(BRANCH);
    if (ref == null) {
      return new Quarantine(table, null, List.of());
    }
    List<Snapshot> oldestFirst = new ArrayList<>();
    Snapshot begin = null;
    for (Snapshot each : SnapshotUtil.ancestorsOf(ref.snapshotId(), table::snapshot)) {
      if (isBegin(each)) {
        begin = each;
        break;
      }
      oldestFirst.add(0, each);
    }
    if (begin == null) {
      throw foreign(table);
    }
    return new Quarantine(table, ref.snapshotId(), HeldGroup.of(begin, oldestFirst));
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

  private static KeylakeException foreign(Table table) {
    return new KeylakeException(
        DEFINITION,
        "table %s has a branch '%s' that somebody else has made, and rows that fail a check would go to a branch of that name; rename or drop it, or write with on_failure='raise'"
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
      clear(attempt);
    } else if (!isOne(table, BRANCH)) {
      throw foreign(table);
    }
  }

  /** Leaves all rows out, so that the branch begins anew. */
  static void clear(Attempt attempt) {
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
