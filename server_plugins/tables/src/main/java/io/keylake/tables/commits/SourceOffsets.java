package io.keylake.tables.commits;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;
import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.Machine;
import io.keylake.tables.commits.Ledger.TakenBack;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.OffsetRanges.Range;
import io.keylake.tables.history.TableLog;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.spec.SpecJson;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongFunction;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The offsets of sources that a table has taken in, so that none counts twice:
 *
 * <ol>
 *   <li>A property of the table lists them by the commits that brought them. It changes in the same
 *       transaction as a commit, and is looked at again at each attempt.
 *   <li>A branch has the offsets of the commits that its {@link Ledger} has, but for those that are
 *       taken back there: offsets go with branches, rollbacks, undos and publications as rows do.
 *   <li>A source goes on at the first offset that the branch has not, which may be one that was
 *       taken back.
 *   <li>Commits whose snapshots have expired are joined, where no snapshot that is kept has one of
 *       them without the other, and forgotten, where none has them.
 * </ol>
 */
@GuestApi
public final class SourceOffsets {
  private static final String PROPERTY = "keylake.offsets";
  private static final String COMMITS = "commits";
  private static final String SOURCES = "sources";

  private final List<Taken> commits;

  private SourceOffsets(List<Taken> commits) {
    this.commits = List.copyOf(commits);
  }

  /**
   * The offsets that one commit has brought, or several that are joined: then the newest of them is
   * named.
   */
  private record Taken(
      long sequenceNumber,
      long snapshotId,
      long millis,
      TakenBack takenBack,
      SortedMap<String, NumberSet> bySource) {
    boolean isOn(Ledger ledger) {
      return ledger.has(sequenceNumber) && !takenBack.isOn(ledger);
    }

    /** The writes are in a branch, as far as that is known; null where it is not. */
    @Nullable Boolean isIn(Ledger ledger) {
      return ledger.isUnknown(NumberSet.of(sequenceNumber))
          ? null
          : Boolean.valueOf(ledger.has(sequenceNumber));
    }

    boolean hasOneOf(Map<String, NumberSet> offsets) {
      return offsets.entrySet().stream()
          .anyMatch(
              each ->
                  bySource.getOrDefault(each.getKey(), NumberSet.EMPTY).hasOneOf(each.getValue()));
    }

    /** The same together with an older or newer one that always comes with it. */
    Taken and(Taken other) {
      Taken newer = sequenceNumber > other.sequenceNumber ? this : other;
      SortedMap<String, NumberSet> both = new TreeMap<>(bySource);
      other.bySource.forEach((source, taken) -> both.merge(source, taken, NumberSet::and));
      return new Taken(newer.sequenceNumber, newer.snapshotId, newer.millis, takenBack, both);
    }

    /** The entry of a history, while its snapshot, or that of a copy, is on the branch. */
    CommitLog.Entry entry(Iterable<Snapshot> newestFirst) {
      for (Snapshot each : newestFirst) {
        if (each.sequenceNumber() == sequenceNumber || sameAs(each).contains(sequenceNumber)) {
          return CommitLog.Entry.of(each);
        }
      }
      return CommitLog.Entry.expired(snapshotId, millis * 1000);
    }
  }

  /** The commits that have made the writes of a commit on other branches. */
  private static NumberSet sameAs(Snapshot commit) {
    return NumberSet.parse(commit.summary().getOrDefault(WriteSummary.SAME_AS, ""));
  }

  // ------------------------------------------------------------------------------- the property

  private static SourceOffsets of(Map<String, String> properties) {
    JsonNode node = SpecJson.parse("property " + PROPERTY, properties.getOrDefault(PROPERTY, "{}"));
    List<String> names = new ArrayList<>();
    node.path(SOURCES).forEach(each -> names.add(each.textValue()));
    List<Taken> commits = new ArrayList<>();
    for (JsonNode each : node.path(COMMITS)) {
      SortedMap<String, NumberSet> bySource = new TreeMap<>();
      each.get(4)
          .forEach(
              source ->
                  bySource.put(
                      names.get(source.get(0).intValue()),
                      NumberSet.parse(source.get(1).textValue())));
      commits.add(
          new Taken(
              each.get(0).longValue(),
              each.get(1).longValue(),
              each.get(2).longValue(),
              TakenBack.parse(each.get(3)),
              bySource));
    }
    return new SourceOffsets(commits);
  }

  private Map<String, String> properties() {
    Set<String> names = new TreeSet<>();
    commits.forEach(each -> names.addAll(each.bySource().keySet()));
    Map<String, Integer> places = new HashMap<>();
    names.forEach(name -> places.put(name, places.size()));
    List<Object> written = new ArrayList<>();
    for (Taken each : commits) {
      List<Object> ranges = new ArrayList<>();
      each.bySource()
          .forEach((name, taken) -> ranges.add(List.of(places.get(name), taken.toString())));
      written.add(
          List.of(
              each.sequenceNumber(),
              each.snapshotId(),
              each.millis(),
              each.takenBack().values(),
              ranges));
    }
    return Map.of(PROPERTY, SpecJson.write(Map.of(SOURCES, names, COMMITS, written)));
  }

  // ------------------------------------------------------------------------------------ a branch

  /**
   * The offsets at which the sources of a branch go on.
   *
   * @param branch null for main
   */
  public static SortedMap<String, Long> next(Table table, @Nullable String branch) {
    SourceOffsets offsets = of(table.properties());
    SortedMap<String, Long> next = new TreeMap<>();
    offsets
        .on(
            where(table.name(), branch),
            Ledger.of(table, new CommitLog(table, branch).head()),
            offsets.sources())
        .forEach((source, position) -> next.put(source, position.next()));
    return next;
  }

  /**
   * The offset from which main has offsets of a source again, behind the first that it has not;
   * null for nowhere.
   */
  public static @Nullable Long gapEnd(Table table, String source) {
    Ledger ledger = Ledger.of(table, new CommitLog(table, null).head());
    SourcePosition position =
        of(table.properties()).on(where(table.name(), null), ledger, Set.of(source)).get(source);
    return position == null ? null : position.end();
  }

  /**
   * The offset behind all that any commit has brought of a source, also where the commit was taken
   * back or rolled back since.
   */
  public static long past(Table table, String source) {
    return of(table.properties()).commits.stream()
        .map(each -> each.bySource().getOrDefault(source, NumberSet.EMPTY))
        .flatMap(taken -> taken.ranges().stream())
        .mapToLong(range -> range.last() + 1)
        .max()
        .orElse(0);
  }

  /**
   * The newest commit of a branch with some of the offsets, where it has all of them; nothing where
   * it has none of them and they go on where it stands. Any other offsets are refused.
   *
   * @param branch null for main
   */
  public static Optional<CommitLog.Entry> first(
      Table table, @Nullable String branch, OffsetRanges given) {
    Snapshot head = new CommitLog(table, branch).head();
    return of(table.properties())
        .first(where(table.name(), branch), Ledger.of(table, head), given)
        .map(
            taken ->
                taken.entry(
                    head == null
                        ? List.of()
                        : SnapshotUtil.ancestorsOf(head.snapshotId(), table::snapshot)));
  }

  static String where(String table, @Nullable String branch) {
    return "branch '%s' of %s".formatted(branch == null ? SnapshotRef.MAIN_BRANCH : branch, table);
  }

  private Set<String> sources() {
    Set<String> sources = new HashSet<>();
    commits.forEach(each -> sources.addAll(each.bySource().keySet()));
    return sources;
  }

  private Map<String, SourcePosition> on(String where, Ledger ledger, Collection<String> sources) {
    Map<String, SourcePosition> positions = new HashMap<>();
    for (Taken each : commits) {
      for (Map.Entry<String, NumberSet> source : each.bySource().entrySet()) {
        if (sources.contains(source.getKey())) {
          if (ledger.isUnknown(NumberSet.of(each.sequenceNumber()))) {
            throw unknown(where, source.getKey());
          }
          if (ledger.has(each.sequenceNumber())) {
            NumberSet taken = each.isOn(ledger) ? source.getValue() : NumberSet.EMPTY;
            long first = source.getValue().ranges().get(0).first();
            positions.merge(source.getKey(), new SourcePosition(taken, first), SourcePosition::and);
          }
        }
      }
    }
    return positions;
  }

  private static KeylakeException unknown(String where, String source) {
    return new KeylakeException(
        SNAPSHOT_EXPIRED,
        "how far %s has got with source '%s' cannot be told: the commits that said so have expired after a commit of another engine; look for its rows, and go on under another name of the source"
            .formatted(where, source));
  }

  private Optional<Taken> first(String where, Ledger ledger, OffsetRanges given) {
    Map<String, SourcePosition> positions = on(where, ledger, given.bySource().keySet());
    Map<String, SourcePosition> repeated = new TreeMap<>();
    String fresh = null;
    for (Map.Entry<String, Range> each : given.bySource().entrySet()) {
      String source = each.getKey();
      Range range = each.getValue();
      SourcePosition position = positions.get(source);
      if (position != null && position.has(range)) {
        repeated.put(source, position);
      } else if (position != null && !position.takes(range)) {
        throw position.misfit(where, source, range);
      } else if (!range.isEmpty()) {
        fresh = source;
      }
    }
    for (Map.Entry<String, SourcePosition> each : repeated.entrySet()) {
      if (fresh != null) {
        throw each.getValue().mixed(where, each.getKey(), given, fresh);
      }
    }
    return repeated.isEmpty() ? Optional.empty() : newest(ledger, given);
  }

  /** The newest commit with some of the offsets. */
  private Optional<Taken> newest(Ledger ledger, OffsetRanges given) {
    return commits.stream()
        .filter(each -> each.isOn(ledger) && each.hasOneOf(SourcePosition.numbers(given)))
        .max(Comparator.comparingLong(Taken::sequenceNumber));
  }

  // ------------------------------------------------------------------------------------- a commit

  /**
   * Finds that a commit may bring offsets to a branch.
   *
   * @param parent what it is made upon
   * @return the commit of the branch that has brought them before
   */
  static Optional<CommitLog.Entry> first(String where, Parent parent, OffsetRanges given) {
    return of(parent.metadata().properties())
        .first(where, parent.ledger(), given)
        .map(taken -> taken.entry(parent.commits()));
  }

  /**
   * The property after a commit that brings offsets.
   *
   * @param parent what it is made upon
   * @param number of the commit
   */
  static Map<String, String> with(
      Map<String, String> properties,
      String where,
      Parent parent,
      OffsetRanges given,
      long number,
      long snapshotId) {
    SortedMap<String, NumberSet> bySource = SourcePosition.numbers(given);
    SourceOffsets before = of(properties);
    Set<String> sources = new HashSet<>(bySource.keySet());
    Ledger ledger = parent.ledger();
    before.commits.stream()
        .filter(each -> !Boolean.FALSE.equals(each.isIn(ledger)))
        .forEach(each -> sources.addAll(each.bySource().keySet()));
    if (sources.size() > OffsetRanges.MOST_SOURCES) {
      throw new KeylakeException(
          BAD_ROWS,
          "%s would know the offsets of %d sources, and the limit is %d; name one source for many files, with their numbers as offsets, or write with idempotency_key"
              .formatted(where, sources.size(), OffsetRanges.MOST_SOURCES));
    }
    String log = TableLog.of(properties).map(TableLog::source).orElse(null);
    List<Taken> commits =
        before.joined(parent.metadata().snapshots(), parent.metadata()::snapshot, log);
    if (!bySource.isEmpty()) {
      long now = Machine.here().now().toEpochMilli();
      commits.add(new Taken(number, snapshotId, now, TakenBack.NEVER, bySource));
    }
    return new SourceOffsets(commits).properties();
  }

  /** The property after an undo. */
  static Map<String, String> undone(Map<String, String> properties, Ledger.Undo undo) {
    if (undo.of().equals(NumberSet.EMPTY) || !properties.containsKey(PROPERTY)) {
      return Map.of();
    }
    List<Taken> commits = new ArrayList<>();
    for (Taken each : of(properties).commits) {
      TakenBack takenBack = each.takenBack().after(undo, each.sequenceNumber());
      commits.add(
          new Taken(
              each.sequenceNumber(), each.snapshotId(), each.millis(), takenBack, each.bySource()));
    }
    return new SourceOffsets(commits).properties();
  }

  /**
   * Refuses a commit with which a branch would have offsets twice, as after a publication, or after
   * the undo of an undo.
   *
   * @param ledger of the branch with the commit
   */
  static void checkOnce(Map<String, String> properties, String where, Ledger ledger) {
    Map<String, NumberSet> known = new HashMap<>();
    for (Taken each : of(properties).commits) {
      if (each.isOn(ledger)) {
        each.bySource()
            .forEach(
                (source, taken) -> {
                  if (known.getOrDefault(source, NumberSet.EMPTY).hasOneOf(taken)) {
                    throw twice(where, source, taken, each.snapshotId());
                  }
                  known.merge(source, taken, NumberSet::and);
                });
      }
    }
  }

  private static KeylakeException twice(
      String where, String source, NumberSet taken, long snapshotId) {
    NumberSet.Range range = taken.ranges().get(0);
    return new KeylakeException(
        COMMIT_CONFLICT,
        "%s would have the rows of source '%s' twice: those of commit %d, from offset %d to %d, and those of another commit; undo one of the two first"
            .formatted(where, source, snapshotId, range.first(), range.last() + 1));
  }

  /**
   * The entries, where those whose snapshots have expired and only come together are one.
   *
   * @param log the source whose entries are never forgotten: what it had brought comes back else,
   *     after a rollback; null for none
   */
  private List<Taken> joined(
      Iterable<Snapshot> kept, LongFunction<Snapshot> byId, @Nullable String log) {
    NumberSet ofKept = NumberSet.EMPTY;
    List<Snapshot> snapshots = new ArrayList<>();
    for (Snapshot each : kept) {
      snapshots.add(each);
      ofKept = ofKept.and(NumberSet.of(each.sequenceNumber())).and(sameAs(each));
    }
    List<Taken> joined = new ArrayList<>();
    List<Taken> expired = new ArrayList<>();
    for (Taken each : commits) {
      (ofKept.contains(each.sequenceNumber()) ? joined : expired).add(each);
    }
    if (expired.size() > 1) {
      List<Ledger> ledgers =
          snapshots.stream().map(each -> Ledger.of(snapshots, byId, each)).toList();
      Map<List<Object>, Taken> together = new LinkedHashMap<>();
      for (Taken each : expired) {
        List<@Nullable Boolean> isIn = ledgers.stream().map(each::isIn).toList();
        boolean isOfLog = log != null && each.bySource().containsKey(log);
        if (isOfLog || isIn.stream().anyMatch(in -> in == null || in)) {
          together.merge(List.of(isIn, each.takenBack()), each, Taken::and);
        }
      }
      expired = List.copyOf(together.values());
    }
    joined.addAll(expired);
    joined.sort(Comparator.comparingLong(Taken::sequenceNumber));
    return joined;
  }
}
