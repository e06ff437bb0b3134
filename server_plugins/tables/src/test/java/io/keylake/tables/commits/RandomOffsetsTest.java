package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.OffsetRanges.Range;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTables;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random deliveries, undos, copies, rollbacks and expiries on several branches, beside a model that
 * keeps for each snapshot which deliveries it has and which of them are taken back.
 */
class RandomOffsetsTest {
  private static final List<String> SOURCES = List.of("a", "b");
  private static final int STEPS = 120;
  private static final long NOT_YET = -1;

  private final Table table = MemoryTables.partitioned().loadTable(MemoryTables.NAME);
  private final Map<Long, State> states = new HashMap<>();
  private final Map<Long, OffsetRanges> delivered = new HashMap<>();

  /** For a write or its copy, the write; an undo is itself. */
  private final Map<Long, Long> writes = new HashMap<>();

  private final Set<Long> undos = new HashSet<>();

  /** An undo of a write, or of an earlier undo. */
  private record Undo(long id, long of) {}

  /**
   * What a snapshot has.
   *
   * @param undos oldest first
   */
  private record State(Set<Long> writes, List<Undo> undos) {
    State copy() {
      return new State(new HashSet<>(writes), new ArrayList<>(undos));
    }

    /** The writes and undos that are taken back, by undos that are not taken back themselves. */
    Set<Long> undone() {
      Set<Long> undone = new HashSet<>();
      for (int i = undos.size() - 1; i >= 0; i--) {
        if (!undone.contains(undos.get(i).id())) {
          undone.add(undos.get(i).of());
        }
      }
      return undone;
    }
  }

  private State state(String branch) {
    Long head = new CommitLog(table, branch).headId();
    return head == null ? new State(new HashSet<>(), new ArrayList<>()) : states.get(head).copy();
  }

  /**
   * The offsets of a source that a state has, but for some writes; null where there are some twice.
   */
  private BitSet taken(State state, String source) {
    BitSet taken = new BitSet();
    Set<Long> undone = state.undone();
    for (long write : state.writes()) {
      Range range = delivered.get(write).bySource().get(source);
      if (range != null && !undone.contains(write)) {
        BitSet more = new BitSet();
        more.set((int) range.from(), (int) range.until());
        if (taken.intersects(more)) {
          return null;
        }
        taken.or(more);
      }
    }
    return taken;
  }

  private boolean hasSomeTwice(State state) {
    return SOURCES.stream().anyMatch(source -> taken(state, source) == null);
  }

  private Map<String, Long> next(State state) {
    Map<String, Long> next = new TreeMap<>();
    for (String source : SOURCES) {
      state.writes().stream()
          .map(write -> delivered.get(write).bySource().get(source))
          .filter(range -> range != null && !range.isEmpty())
          .mapToLong(Range::from)
          .min()
          .ifPresent(
              first -> next.put(source, (long) taken(state, source).nextClearBit((int) first)));
    }
    return next;
  }

  /** The answer for a delivery: true where it is new, false where repeated, null where refused. */
  private Boolean isNew(State state, OffsetRanges given) {
    Map<String, Long> next = next(state);
    boolean hasNew = false;
    boolean hasRepeated = false;
    for (Map.Entry<String, Range> each : given.bySource().entrySet()) {
      BitSet taken = taken(state, each.getKey());
      Range range = each.getValue();
      BitSet wanted = new BitSet();
      wanted.set((int) range.from(), (int) range.until());
      Long at = next.get(each.getKey());
      int there = wanted.cardinality();
      wanted.and(taken);
      if (range.isEmpty()) {
        boolean isReached = at == null || range.from() <= at || taken.get((int) range.from() - 1);
        if (!isReached) {
          return null;
        }
      } else if (at == null || (wanted.isEmpty() && range.from() == at)) {
        hasNew = true;
      } else if (wanted.cardinality() == there) {
        hasRepeated = true;
      } else {
        return null;
      }
    }
    return hasNew && hasRepeated ? null : Boolean.valueOf(!hasRepeated);
  }

  private void refresh(String branch, State now) {
    table.refresh();
    states.put(new CommitLog(table, branch).headId(), now);
  }

  private void write(Random random, String branch) {
    State state = state(branch);
    Map<String, Long> next = next(state);
    TreeMap<String, Range> ranges = new TreeMap<>();
    for (String source : SOURCES) {
      if (ranges.isEmpty() || random.nextInt(3) == 0) {
        long about = next.getOrDefault(source, 5L);
        long from = random.nextBoolean() ? about : random.nextInt((int) about + 3);
        ranges.put(source, new Range(from, from + random.nextInt(4)));
      }
    }
    OffsetRanges given = new OffsetRanges(ranges);
    WriteSummary summary =
        new WriteSummary("update", 0, 7L, 9L, List.of(), WriteLabels.NONE.of(given));
    Append append = new Append(branch, List.of(), summary);
    Boolean isNew = isNew(state, given);
    if (isNew == null) {
      assertRefused(Kind.BAD_ROWS, append);
      return;
    }
    Commits.Result result = new Commits(table).make(append);
    assertEquals(isNew, result.isCommitted(), given.toString());
    if (isNew) {
      long write = result.lastSnapshotId();
      delivered.put(write, given);
      writes.put(write, write);
      state.writes().add(write);
      refresh(branch, state);
    }
  }

  private void assertRefused(Kind kind, Change change) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> new Commits(table).make(change));
    assertEquals(kind, refused.kind(), refused.getMessage());
    table.refresh();
  }

  /** Commits of a branch that have not expired, and are writes or undos. */
  private List<Long> commits(String branch) {
    List<Long> commits = new ArrayList<>();
    Snapshot head = new CommitLog(table, branch).head();
    if (head != null) {
      for (Snapshot each : SnapshotUtil.ancestorsOf(head.snapshotId(), table::snapshot)) {
        commits.add(each.snapshotId());
      }
    }
    return commits;
  }

  private void undo(Random random, String branch) {
    List<Long> commits = commits(branch);
    if (commits.isEmpty()) {
      return;
    }
    long commit = commits.get(random.nextInt(commits.size()));
    State state = state(branch);
    Long of = undos.contains(commit) ? Long.valueOf(commit) : writes.get(commit);
    if (of == null) {
      return;
    }
    Change undo = LedgerChanges.undo(branch, commit);
    state.undos().add(new Undo(NOT_YET, of));
    if (hasSomeTwice(state)) {
      assertRefused(Kind.COMMIT_CONFLICT, undo);
      return;
    }
    long id = new Commits(table).make(undo).lastSnapshotId();
    undos.add(id);
    state.undos().set(state.undos().size() - 1, new Undo(id, of));
    refresh(branch, state);
  }

  private void copy(Random random, String from, String to) {
    List<Long> commits = commits(from);
    State state = state(to);
    Long commit = commits.isEmpty() ? null : commits.get(random.nextInt(commits.size()));
    Long write = commit == null ? null : writes.get(commit);
    if (write == null || !state.writes().add(write)) {
      return;
    }
    NumberSet sameAs = Ledger.sameAs(table, table.snapshot(commit));
    Change copy = LedgerChanges.copy(table, to, commit, sameAs);
    if (hasSomeTwice(state)) {
      assertRefused(Kind.COMMIT_CONFLICT, copy);
      return;
    }
    writes.put(new Commits(table).make(copy).lastSnapshotId(), write);
    refresh(to, state);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void branchesHaveWhatTheModelSays(long seed) {
    Random random = new Random(seed);
    List<String> branches = new ArrayList<>(List.of("main"));
    for (int step = 0; step < STEPS; step++) {
      String branch = branches.get(random.nextInt(branches.size()));
      List<Long> commits = commits(branch);
      switch (random.nextInt(12)) {
        case 0, 1 -> undo(random, branch);
        case 2 -> copy(random, branches.get(random.nextInt(branches.size())), branch);
        case 3 -> {
          if (commits.size() > 3) {
            new Commits(table).make(new Rollback(branch, commits.get(random.nextInt(3))));
            table.refresh();
          }
        }
        case 4 -> {
          if (!commits.isEmpty() && branches.size() < 4) {
            String made = "branch" + step;
            long at = commits.get(random.nextInt(commits.size()));
            table.manageSnapshots().createBranch(made, at).commit();
            branches.add(made);
          }
        }
        case 5 -> {
          if (random.nextInt(3) == 0) {
            LedgerChanges.expire(table);
          }
        }
        default -> write(random, branch);
      }
      for (String each : branches) {
        assertEquals(next(state(each)), SourceOffsets.next(table, each), each + " at step " + step);
      }
    }
  }
}
