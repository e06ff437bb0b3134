package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOTHING_TO_DO;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;

import io.keylake.tables.Backoff;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.NumberSet;
import io.keylake.tables.commits.Parent;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.YearMonth;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.ManageSnapshots;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The archived states of a table: a branch for each business time, made from main. No file is
 * opened.
 *
 * <ol>
 *   <li>The newest is what main is when it is made. One for an earlier time is what main was then,
 *       or, if nothing came since, what the archived state before it is.
 *   <li>A late write goes to the first state at or after its business time, to every later one, and
 *       to main, in one commit of the table; versions say what is newer. Earlier states do not see
 *       it.
 *   <li>Late writes of one state that the next has not, as it was made meanwhile, are made again
 *       there, when the next is archived.
 * </ol>
 */
public final class HistoryBranches {
  static final String PREFIX = "history_";
  private static final DateTimeFormatter NAME =
      DateTimeFormatter.ofPattern("'" + PREFIX + "'uuuuMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
  private static final int MOST_AT_ONCE = 1000;

  private final Table table;

  public HistoryBranches(Table table) {
    this.table = table;
  }

  /** The state of one business time, and where its branch stands. */
  public record State(Instant time, String branch, long snapshotId) {}

  /** All of them, the oldest first. */
  public List<State> all() {
    List<State> states = new ArrayList<>();
    table
        .refs()
        .forEach(
            (name, ref) ->
                time(name).map(at -> new State(at, name, ref.snapshotId())).ifPresent(states::add));
    states.sort(Comparator.comparing(State::time));
    return states;
  }

  /** The state of a business time. */
  public State at(Instant time) {
    List<State> states = all();
    return states.stream()
        .filter(state -> state.time().equals(time))
        .findFirst()
        .orElseThrow(
            () ->
                new KeylakeException(
                    NOT_FOUND,
                    "table %s has no archived state of %s; %s"
                        .formatted(table.name(), time, shown(states))));
  }

  private static String shown(List<State> states) {
    return states.isEmpty()
        ? "none was archived yet"
        : "it has %d from %s to %s"
            .formatted(states.size(), states.get(0).time(), states.get(states.size() - 1).time());
  }

  /** A branch of that name is an archived state. */
  static boolean isState(String branch) {
    return time(branch).isPresent();
  }

  private static Optional<Instant> time(String branch) {
    try {
      return Optional.of(Instant.from(NAME.parse(branch)));
    } catch (DateTimeException e) {
      return Optional.empty();
    }
  }

  /** The number of writes that have come late to a state, of which main has the files, too. */
  public int lateWrites(State state) {
    Set<Long> onMain = ids(new CommitLog(table, null).headId());
    int count = 0;
    for (Snapshot each : SnapshotUtil.ancestorsOf(state.snapshotId(), table::snapshot)) {
      if (onMain.contains(each.snapshotId())) {
        break;
      }
      count += each.summary().containsKey(WriteSummary.LATE) ? 1 : 0;
    }
    return count;
  }

  private Set<Long> ids(@Nullable Long head) {
    return head == null
        ? Set.of()
        : new HashSet<>(SnapshotUtil.ancestorIds(table.snapshot(head), table::snapshot));
  }

  // ----------------------------------------------------------------------------------- archiving

  /**
   * Archives a business time, and those between the last archived one and it that are missing.
   *
   * @param every the time from one state to the next; null if none is to be filled in
   * @return the states that were made, the oldest first; none where it was archived already
   */
  public List<State> archive(Instant time, @Nullable Duration every) {
    if (time.getNano() != 0) {
      throw new KeylakeException(
          DEFINITION,
          "the business time %s has a part of a second; give whole seconds".formatted(time));
    }
    List<State> made = Backoff.retry(table, "the archiving", () -> tried(time, every));
    carryOn();
    return made;
  }

  private List<State> tried(Instant time, @Nullable Duration every) {
    Snapshot head = new CommitLog(table, null).head();
    if (head == null) {
      throw new KeylakeException(
          NOTHING_TO_DO,
          "table %s has no commit yet; there is nothing to archive".formatted(table.name()));
    }
    Lineage.check(table, head.snapshotId());
    if (all().stream().anyMatch(state -> state.time().equals(time))) {
      return List.of();
    }
    List<State> made = new ArrayList<>();
    for (Instant each : missing(time, every)) {
      made.add(new State(each, NAME.format(each), source(each, time, head)));
    }
    if (!new Commits(table).make(new Archiving(table.name(), made)).isCommitted()) {
      throw new CommitFailedException("another state was archived, or a snapshot has expired");
    }
    return made;
  }

  /** The times to be archived, the oldest first. */
  private List<Instant> missing(Instant time, @Nullable Duration every) {
    List<Instant> missing = new ArrayList<>();
    Optional<State> last = before(time);
    if (last.isPresent() && every != null) {
      Instant each = last.get().time().plus(every);
      while (each.isBefore(time)) {
        missing.add(each);
        each = each.plus(every);
        if (missing.size() > MOST_AT_ONCE) {
          throw new KeylakeException(
              DEFINITION,
              "between the last archived time %s and %s there are more than %d times, one every %s; archive a time in between, or give a longer step"
                  .formatted(last.get().time(), time, MOST_AT_ONCE, every));
        }
      }
    }
    missing.add(time);
    return missing;
  }

  private Optional<State> before(Instant time) {
    return all().stream()
        .filter(state -> state.time().isBefore(time))
        .reduce((older, newer) -> newer);
  }

  /** The snapshot that the state of a time is made of. */
  private long source(Instant each, Instant asked, Snapshot head) {
    List<State> states = all();
    boolean isNewest = states.isEmpty() || states.get(states.size() - 1).time().isBefore(asked);
    if (each.equals(asked) && isNewest) {
      return head.snapshotId();
    }
    Optional<State> last = before(each);
    Set<Long> onLast = ids(last.map(State::snapshotId).orElse(null));
    Snapshot oldest = head;
    for (Snapshot commit : SnapshotUtil.ancestorsOf(head.snapshotId(), table::snapshot)) {
      if (onLast.contains(commit.snapshotId())) {
        return last.get().snapshotId(); // nothing came to main in between
      }
      if (commit.timestampMillis() <= each.toEpochMilli()) {
        return commit.snapshotId();
      }
      oldest = commit;
    }
    if (!WriteSummary.isFirst(oldest)) {
      throw new KeylakeException(
          SNAPSHOT_EXPIRED,
          "what %s was at %s has expired; the oldest commit that is kept is of %s; archive without the times in between"
              .formatted(table.name(), each, Instant.ofEpochMilli(oldest.timestampMillis())));
    }
    throw new KeylakeException(
        NOT_FOUND,
        "table %s had no commit yet at %s; its first is of %s"
            .formatted(table.name(), each, Instant.ofEpochMilli(oldest.timestampMillis())));
  }

  /** Makes the branches of states. */
  private record Archiving(String table, List<State> states) implements Change {
    @Override
    public void addTo(Attempt attempt) {
      Parent now = attempt.parent(null);
      for (State state : states) {
        if (now.headOf(state.branch()) != null || !now.has(state.snapshotId())) {
          throw Attempt.stale();
        }
      }
      ManageSnapshots references = attempt.references();
      states.forEach(state -> references.createBranch(state.branch(), state.snapshotId()));
      references.commit();
    }

    @Override
    public KeylakeException lost(String why) {
      return new KeylakeException(
          COMMIT_CONFLICT,
          "archiving %s lost against another commit (%s); archive again".formatted(table, why));
    }
  }

  /** Gives each state the late writes of the one before it that it has not. */
  private void carryOn() {
    List<State> states = all();
    for (int i = 1; i < states.size(); i++) {
      State from = states.get(i - 1);
      State to = states.get(i);
      List<Snapshot> late = late(new CommitLog(table, from.branch()).headId());
      Snapshot head = new CommitLog(table, to.branch()).head();
      CopiedCommits missing = CopiedCommits.missing(table, late, head);
      if (!missing.copies().isEmpty()) {
        // What was not made because others came first is found again when the next is archived.
        new Commits(table).make(attempt -> missing.addTo(attempt, to.branch(), parent -> {}));
      }
    }
  }

  /** The late writes of a branch, oldest first, as far as they have not expired. */
  private List<Snapshot> late(@Nullable Long head) {
    List<Snapshot> late = new ArrayList<>();
    if (head == null) {
      return late;
    }
    for (Snapshot each : SnapshotUtil.ancestorsOf(head, table::snapshot)) {
      if (each.summary().containsKey(WriteSummary.LATE)) {
        late.add(0, each);
      }
    }
    return late;
  }

  // --------------------------------------------------------------------------------- late writes

  /**
   * A write that adds files to the first state at or after a business time, to every later one, and
   * to main, all or none.
   */
  public static Change lateWrite(List<DataFile> files, WriteSummary summary, Instant time) {
    return new LateWrite(new Append(null, files, summary), time, UUID.randomUUID().toString());
  }

  private record LateWrite(Append write, Instant time, String id) implements Change {
    @Override
    public void addTo(Attempt attempt) {
      List<String> branches = from(attempt.parent(null).references(), time);
      branches.add(SnapshotRef.MAIN_BRANCH);
      write.addTo(
          attempt,
          branches,
          (said, parent, part) -> {
            List<String> now = from(parent.references(), time);
            if (!branches.subList(0, branches.size() - 1).equals(now)) {
              throw Attempt.again(); // another state was archived, or one was dropped
            }
            long first = parent.sequenceNumber() - part;
            CommitSummary late = branches.size() == 1 ? said : said.with(WriteSummary.LATE, id);
            return late.sameAs(NumberSet.between(first, first + branches.size() - 1));
          });
    }

    @Override
    public List<String> written() {
      return write.written();
    }

    @Override
    public WriteLabels labels() {
      return write.labels();
    }

    @Override
    public KeylakeException lost(String why) {
      return write.lost(why);
    }
  }

  /** The branches of the states at or after a time, in the order of their names. */
  private static List<String> from(Set<String> references, Instant time) {
    List<String> branches = new ArrayList<>();
    references.stream()
        .filter(name -> time(name).filter(at -> !at.isBefore(time)).isPresent())
        .sorted()
        .forEach(branches::add);
    return branches;
  }

  // ----------------------------------------------------------------------------------- retention

  /** The archived states that need not be kept; the newest always is. */
  static List<State> expired(RetentionPolicy policy, List<State> oldestFirst, Instant now) {
    if (policy.historyKept() == null) {
      return List.of();
    }
    Instant young = now.minus(policy.historyKept());
    int months = policy.historyMonths();
    YearMonth firstMonth = YearMonth.from(now.atOffset(ZoneOffset.UTC)).minusMonths(months);
    List<State> expired = new ArrayList<>();
    for (int i = 0; i < oldestFirst.size() - 1; i++) {
      YearMonth month = month(oldestFirst.get(i));
      boolean isLastOfMonth = !month.equals(month(oldestFirst.get(i + 1)));
      boolean isKeptMonth = months > 0 && isLastOfMonth && !month.isBefore(firstMonth);
      if (oldestFirst.get(i).time().isBefore(young) && !isKeptMonth) {
        expired.add(oldestFirst.get(i));
      }
    }
    return expired;
  }

  private static YearMonth month(State state) {
    return YearMonth.from(state.time().atOffset(ZoneOffset.UTC));
  }

  /** Drops the states that the policy does not keep, and says how many. */
  public int dropExpired(RetentionPolicy policy, Instant now) {
    List<State> expired = expired(policy, all(), now);
    if (!expired.isEmpty()) {
      new Commits(table)
          .make(
              attempt -> {
                Set<String> there = attempt.parent(null).references();
                ManageSnapshots references = attempt.references();
                expired.stream()
                    .map(State::branch)
                    .filter(there::contains)
                    .forEach(references::removeBranch);
                references.commit();
              });
    }
    return expired.size();
  }
}
