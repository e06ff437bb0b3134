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
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
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
 * <p>Each commit says the conditions of all writes so far, so that older ones may expire.
 *
 * @param head where the branch stands; null where nothing is held
 * @param conditions in the order in which writes required them
 */
public record Quarantine(Table table, @Nullable Snapshot head, List<String> conditions) {
  public static final String BRANCH = "quarantine";

  private static final long FOR_EVER = Duration.ofDays(100 * 365).toMillis();

  public Quarantine {
    conditions = List.copyOf(conditions);
  }

  /** The rows that a table holds now. */
  public static Quarantine of(Table table) {
    SnapshotRef ref = table.refs().get(BRANCH);
    if (ref == null) {
      return new Quarantine(table, null, List.of());
    }
    Snapshot head = table.snapshot(ref.snapshotId());
    if (!isOne(head)) {
      throw foreign(table);
    }
    return new Quarantine(table, head, List.copyOf(conditions(head)));
  }

  /** A branch of the table holds rows back. */
  public static boolean isOne(Table table, @Nullable String branch) {
    SnapshotRef ref = BRANCH.equals(branch) ? table.refs().get(BRANCH) : null;
    return ref != null && isOne(table.snapshot(ref.snapshotId()));
  }

  /** A commit is one of a quarantine. */
  static boolean isOne(@Nullable Snapshot commit) {
    return commit != null && commit.summary().containsKey(WriteSummary.CONDITIONS);
  }

  /** The rows that it has, as they are stored: a key may be among them several times. */
  public long rows() {
    return head == null
        ? 0
        : Long.parseLong(head.summary().getOrDefault(SnapshotSummary.TOTAL_RECORDS_PROP, "0"));
  }

  /** The conditions that a commit says. */
  private static Set<String> conditions(Snapshot commit) {
    Set<String> conditions = new LinkedHashSet<>();
    SpecJson.parse(commit.summary().getOrDefault(WriteSummary.CONDITIONS, "[]"))
        .forEach(each -> conditions.add(each.asText()));
    return conditions;
  }

  /**
   * The property of a commit that holds rows back.
   *
   * @param parent a commit of the quarantine
   */
  static String conditions(Snapshot parent, List<String> more) {
    Set<String> all = conditions(parent);
    all.addAll(more);
    return SpecJson.write(List.copyOf(all));
  }

  private static KeylakeException foreign(Table table) {
    return new KeylakeException(
        DEFINITION,
        "table %s has a branch '%s' that somebody else has made, or has rolled back behind its beginning, and rows that fail a check would go to a branch of that name; rename or drop it, or write with on_failure='raise'"
            .formatted(table.name(), BRANCH));
  }

  /** Makes the branch, if it is not there. */
  static void begin(Attempt attempt) {
    Table table = attempt.transaction().table();
    if (!table.refs().containsKey(BRANCH)) {
      attempt.references().createBranch(BRANCH).setMaxRefAgeMs(BRANCH, FOR_EVER).commit();
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
                .with(WriteSummary.CONDITIONS, "[]")
                .with(WriteSummary.REPLACES, Overwrite.json(table, Expressions.alwaysTrue()))
                .anew());
  }
}
