package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Ancestry;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteSummary;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManageSnapshots;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.util.SnapshotUtil;

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
  private static final String PREFIX = "history_";
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

  private static Optional<Instant> time(String branch) {
    try {
      return Optional.of(Instant.from(NAME.parse(branch)));
    } catch (DateTimeException e) {
      return Optional.empty();
    }
  }

  /** How many writes have come late to a state, of which main has the files, too. */
  public int lateWrites(State state) {
    Set<Long> onMain = CopiedCommits.on(table, new CommitLog(table, null).headId());
    int count = 0;
    for (Snapshot each : SnapshotUtil.ancestorsOf(state.snapshotId(), table::snapshot)) {
      if (onMain.contains(each.snapshotId())) {
        break;
      }
      count += each.summary().containsKey(WriteSummary.LATE) ? 1 : 0;
    }
    return count;
  }

  // ----------------------------------------------------------------------------------- archiving

  /**
   * Archives a business time, and those between the last archived one and it that are missing.
   *
   * @param every the time from one state to the next; null if none is to be filled in
   * @return the states that were made, the oldest first; none where it was archived already
   */
  public List<State> archive(Instant time, Duration every) {
    if (time.getNano() != 0) {
      throw new KeylakeException(
          DEFINITION,
          "the business time %s has a part of a second; give whole seconds".formatted(time));
    }
    table.refresh();
    Snapshot head = new CommitLog(table, null).head();
    if (head == null) {
      throw new KeylakeException(
          NOT_FOUND,
          "table %s has no commit yet; there is nothing to archive".formatted(table.name()));
    }
    Lineage.check(table, head.snapshotId());
    List<State> made = new ArrayList<>();
    if (all().stream().noneMatch(state -> state.time().equals(time))) {
      for (Instant each : missing(time, every)) {
        made.add(new State(each, NAME.format(each), source(each, time, head)));
      }
      create(made);
    }
    carryOn();
    return made;
  }

  /** The times to be archived, the oldest first. */
  private List<Instant> missing(Instant time, Duration every) {
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
    Set<Long> onLast = CopiedCommits.on(table, last.map(State::snapshotId).orElse(null));
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
    if (oldest.parentId() != null) {
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

  private void create(List<State> states) {
    ManageSnapshots refs = table.manageSnapshots();
    states.forEach(state -> refs.createBranch(state.branch(), state.snapshotId()));
    try {
      refs.commit();
    } catch (CommitFailedException | ValidationException | IllegalArgumentException e) {
      throw lost(e);
    }
    table.refresh();
  }

  private KeylakeException lost(RuntimeException e) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "archiving %s lost against another commit (%s); archive again"
            .formatted(table.name(), e.getMessage()));
  }

  /** Gives each state the late writes of the one before it that it has not. */
  private void carryOn() {
    List<State> states = all();
    for (int i = 1; i < states.size(); i++) {
      Map<String, Snapshot> missing = late(states.get(i - 1).branch());
      missing.keySet().removeAll(late(states.get(i).branch()).keySet());
      if (!missing.isEmpty()) {
        String branch = states.get(i).branch();
        Transaction all = table.newTransaction();
        try {
          new CopiedCommits(
                  table,
                  missing.values().stream().map(each -> CopiedCommits.whole(table, each)).toList())
              .addTo(all, branch, new CommitLog(table, branch).head());
          all.commitTransaction();
        } catch (CommitFailedException | ValidationException e) {
          throw lost(e);
        }
        table.refresh();
      }
    }
  }

  /** The late writes that a branch has, by their ids, the oldest first. */
  private Map<String, Snapshot> late(String branch) {
    List<Snapshot> found = new ArrayList<>();
    long head = table.refs().get(branch).snapshotId();
    for (Snapshot each : SnapshotUtil.ancestorsOf(head, table::snapshot)) {
      if (each.summary().containsKey(WriteSummary.LATE)) {
        found.add(0, each);
      }
    }
    Map<String, Snapshot> byId = new LinkedHashMap<>();
    found.forEach(each -> byId.put(each.summary().get(WriteSummary.LATE), each));
    return byId;
  }

  // --------------------------------------------------------------------------------- late writes

  /**
   * Adds files to the first state at or after a business time, to every later one, and to main, all
   * or none.
   *
   * @return false, and nothing is added, when a commit has the idempotency key
   */
  public boolean append(List<DataFile> files, WriteSummary summary, Instant time) {
    List<String> branches = from(time);
    if (branches.isEmpty()) {
      return new Commits(table, null).append(files, summary);
    }
    branches.add(SnapshotRef.MAIN_BRANCH);
    String id = UUID.randomUUID().toString();
    Transaction all = table.newTransaction();
    List<Ancestry> ancestries = new ArrayList<>();
    try {
      for (String branch : branches) {
        Commits commits = new Commits(table, branch);
        Ancestry ancestry =
            new Ancestry(summary.labels().idempotencyKey(), commits.log().head(), false);
        ancestries.add(ancestry);
        AppendFiles append = all.newAppend();
        files.forEach(append::appendFile);
        append.set(WriteSummary.LATE, id);
        commits.prepare(append, summary, false, ancestry);
        append.validateWith(
            Lineage.validator(
                table, ancestors -> ancestry.validate(ancestors) && stillAre(branches, time)));
        append.commit();
      }
      all.commitTransaction();
      table.refresh();
      return true;
    } catch (CommitFailedException e) {
      throw new Commits(table, null).lost(e);
    } catch (ValidationException e) {
      table.refresh();
      if (ancestries.stream().anyMatch(Ancestry::isRepeated)) {
        return false;
      }
      List<String> now = from(time);
      now.add(SnapshotRef.MAIN_BRANCH);
      if (ancestries.stream().anyMatch(Ancestry::isBroken) || !now.equals(branches)) {
        return append(files, summary, time);
      }
      throw e;
    }
  }

  private List<String> from(Instant time) {
    List<String> branches = new ArrayList<>();
    for (State state : all()) {
      if (!state.time().isBefore(time)) {
        branches.add(state.branch());
      }
    }
    return branches;
  }

  /** Whether the table, as it is at the very moment of a commit, has these states and no more. */
  private boolean stillAre(List<String> branches, Instant time) {
    return ((HasTableOperations) table)
        .operations().current().refs().keySet().stream()
            .filter(name -> time(name).filter(at -> !at.isBefore(time)).isPresent())
            .allMatch(branches::contains);
  }

  // ----------------------------------------------------------------------------------- retention

  /** Drops the states that the policy does not keep, and says how many. */
  public int dropExpired(RetentionPolicy policy, Instant now) {
    List<State> expired = policy.expired(all(), now);
    if (!expired.isEmpty()) {
      ManageSnapshots refs = table.manageSnapshots();
      expired.forEach(state -> refs.removeBranch(state.branch()));
      refs.commit();
      table.refresh();
    }
    return expired.size();
  }
}
