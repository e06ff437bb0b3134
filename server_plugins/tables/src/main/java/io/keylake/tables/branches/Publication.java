package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOTHING_TO_DO;
import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Ledger;
import io.keylake.tables.commits.Parent;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.HighestVersion;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteSummary;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * Brings what a branch has and main has not to main, all of it or nothing, and no file is opened:
 *
 * <ol>
 *   <li>The base is the newest commit of the branch with which main has everything, as the ledgers
 *       of both say.
 *   <li>Where main still stands there, it moves to where the branch stands.
 *   <li>Otherwise the files that the branch's commits have written are added to main, commit by
 *       commit; their versions say what is newer.
 *   <li>It holds only while both stand where they stood when it was planned.
 * </ol>
 *
 * @param main where main stands; null where it has no commit
 * @param head where the branch stands
 * @param commits of the branch after the base
 */
public record Publication(
    Table table, String branch, @Nullable Long main, long head, CommitRange commits) {
  /**
   * The outcome of a publication.
   *
   * @param overlap what both sides have written since the base
   */
  public record Done(long snapshotId, int commits, boolean isFastForward, Overlap overlap) {}

  public static Publication of(Table table, String branch) {
    Snapshot head = new CommitLog(table, branch).head();
    if (head == null) { // main, before its first commit
      throw nothing(table, branch);
    }
    Snapshot main = new CommitLog(table, null).head();
    Long mainId = main == null ? null : Long.valueOf(main.snapshotId());
    Ledger onMain = Ledger.of(table, main);
    List<Snapshot> newestFirst = new ArrayList<>();
    Snapshot each = head;
    while (each != null && !(main != null && onMain.hasAllOf(Ledger.of(table, each)))) {
      newestFirst.add(each);
      Long parentId = each.parentId();
      Snapshot parent = parentId == null ? null : table.snapshot(parentId);
      if (parent == null && !isBase(onMain, each)) {
        throw expired(table, branch);
      }
      each = parent;
    }
    Long base =
        newestFirst.isEmpty()
            ? Long.valueOf(head.snapshotId())
            : newestFirst.get(newestFirst.size() - 1).parentId();
    Lineage.check(table, head.snapshotId());
    List<Snapshot> commits =
        new ArrayList<>(newestFirst.stream().filter(WriteSummary::isOwn).toList());
    Collections.reverse(commits);
    return new Publication(
        table, branch, mainId, head.snapshotId(), new CommitRange(base, commits));
  }

  /**
   * The branch main has everything that was there before a commit whose parent has expired, or
   * which is the first of all.
   */
  private static boolean isBase(Ledger onMain, Snapshot oldest) {
    if (WriteSummary.isFirst(oldest)) {
      return onMain.isWhole();
    }
    return Ledger.before(oldest).filter(onMain::hasAllOf).isPresent();
  }

  private static KeylakeException expired(Table table, String branch) {
    return new KeylakeException(
        SNAPSHOT_EXPIRED,
        "the commit that branch '%s' of %s came from has expired; write its rows to main instead"
            .formatted(branch, table.name()));
  }

  private static KeylakeException nothing(Table table, String branch) {
    return new KeylakeException(
        NOTHING_TO_DO,
        "branch '%s' of %s has no commit that main has not; there is nothing to publish"
            .formatted(branch, table.name()));
  }

  /** The commit that the branch came from; null for the time before the first commit. */
  public @Nullable Long base() {
    return commits.after();
  }

  /**
   * Publishes.
   *
   * @param report of the checks, as JSON; null for none
   */
  public Done publish(@Nullable String report) {
    List<Snapshot> writes = commits.writes();
    Snapshot at = main == null ? null : table.snapshot(main);
    boolean isFastForward = Objects.equals(base(), main);
    Optional<CopiedCommits> copies =
        isFastForward ? Optional.empty() : Optional.of(CopiedCommits.of(table, commits, at));
    if (writes.isEmpty() || copies.filter(each -> each.copies().isEmpty()).isPresent()) {
      throw nothing(table, branch);
    }
    Overlap overlap = isFastForward ? Overlap.NONE : Overlap.of(table, writes, sinceBase());
    Change change =
        copies
            .<Change>map(each -> new Copying(each, report))
            .orElseGet(() -> new FastForward(report));
    Commits.Result result = new Commits(table).make(change);
    if (!result.isCommitted()) {
      throw lost("the branch or main has moved");
    }
    return new Done(result.lastSnapshotId(), writes.size(), isFastForward, overlap);
  }

  private List<Snapshot> sinceBase() {
    return main == null ? List.of() : CommitRange.of(table, baseOnMain(), main).writes();
  }

  private KeylakeException lost(String why) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "publishing branch '%s' of %s lost against another commit (%s); publish again"
            .formatted(branch, table.name(), why));
  }

  /** Ends an attempt where one of the two does not stand any more where it stood. */
  private void check(Parent parent) {
    if (!Objects.equals(parent.headOf(branch), head)
        || !Objects.equals(parent.headOf(SnapshotRef.MAIN_BRANCH), main)) {
      throw Attempt.stale();
    }
  }

  /** The last part: what was published, and what the checks have found. */
  private void mark(Attempt attempt, String of, @Nullable String report, boolean isFirst) {
    AppendFiles mark = attempt.transaction().newFastAppend();
    Ledger ledger = Ledger.of(table, table.snapshot(head));
    attempt.commit(
        of,
        mark,
        parent -> {
          if (isFirst) {
            check(parent);
          }
          Long highest =
              HighestVersion.larger(
                  parent.highestVersion(),
                  new CommitLog(table, branch).highestVersion().orElse(null));
          return CommitSummary.of(WriteSummary.published(head, report, highest))
              .takingIn(ledger.commits());
        });
  }

  /** Main moves to where the branch stands. */
  private final class FastForward implements Change {
    private final @Nullable String report;

    FastForward(@Nullable String report) {
      this.report = report;
    }

    @Override
    public void addTo(Attempt attempt) {
      mark(attempt, branch, report, true);
      attempt.references().fastForwardBranch(SnapshotRef.MAIN_BRANCH, branch).commit();
    }

    @Override
    public KeylakeException lost(String why) {
      return Publication.this.lost(why);
    }
  }

  /** The commits are made again on main. */
  private final class Copying implements Change {
    private final CopiedCommits copies;
    private final @Nullable String report;

    Copying(CopiedCommits copies, @Nullable String report) {
      this.copies = copies;
      this.report = report;
    }

    @Override
    public void addTo(Attempt attempt) {
      check(attempt.parent(null));
      copies.addTo(attempt, SnapshotRef.MAIN_BRANCH, Publication.this::check);
      mark(attempt, SnapshotRef.MAIN_BRANCH, report, false);
    }

    @Override
    public KeylakeException lost(String why) {
      return Publication.this.lost(why);
    }
  }

  /** The commit of main with which it had all of the base. */
  public long baseOnMain() {
    Long base = base();
    if (base == null || main == null) {
      return CommitRange.BEGINNING;
    }
    Ledger atBase = ledgerAt(base);
    Long oldest = null;
    for (Snapshot each : SnapshotUtil.ancestorsOf(main, table::snapshot)) {
      String published = each.summary().get(WriteSummary.PUBLISHED_OF);
      if (each.snapshotId() == base || String.valueOf(base).equals(published)) {
        return each.snapshotId();
      }
      if (Ledger.of(table, each).hasAllOf(atBase)) {
        oldest = each.snapshotId();
      }
    }
    return oldest == null ? CommitRange.BEGINNING : oldest;
  }

  /**
   * The ledger of the base; the first commit after it says it where the base itself has expired.
   */
  private Ledger ledgerAt(long base) {
    Snapshot at = table.snapshot(base);
    return at == null
        ? Ledger.before(commits.commits().get(0)).orElseThrow()
        : Ledger.of(table, at);
  }
}
