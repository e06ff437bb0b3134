package io.keylake.tables.simulator;

import io.keylake.merge.MergeLaw;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.TableMetadata;
import org.jspecify.annotations.Nullable;

/**
 * What a table has to be: for each snapshot the writes that it consists of, oldest first. The model
 * hears of each commit that the catalog takes, and knows what its operation was allowed to do. It
 * breaks where
 *
 * <ul>
 *   <li>a branch comes to stand elsewhere than behind where it stood, and nobody wanted that;
 *   <li>a write comes to a branch for which it was not meant, or a second time;
 *   <li>a write, a source's offset or an idempotency key counts twice on a branch.
 * </ul>
 */
final class Model {
  private final Laws laws;
  private final Map<Long, List<Write>> states = new HashMap<>();
  private final Map<String, Write> byFile = new HashMap<>();
  private final Map<String, Long> heads = new TreeMap<>();

  /**
   * @param laws know the files of each snapshot
   */
  Model(Laws laws) {
    this.laws = laws;
  }

  static AssertionError broken(String law) {
    return new AssertionError(law);
  }

  /** Hears of a write before it is sent. */
  void announce(Write write) {
    write.files.forEach(file -> byFile.put(file, write));
  }

  /** The branches that a commit has changed. */
  Set<String> taken(Intent intent, @Nullable TableMetadata before, TableMetadata after) {
    Set<String> changed = new HashSet<>();
    after
        .refs()
        .forEach(
            (branch, ref) -> {
              Long head = heads.get(branch);
              if (!Objects.equals(head, ref.snapshotId())) {
                advance(intent, branch, head, after.snapshot(ref.snapshotId()), after);
                heads.put(branch, ref.snapshotId());
                changed.add(branch);
              }
            });
    checkLate(intent.write(), changed);
    checkHeld(intent);
    for (String branch : List.copyOf(heads.keySet())) {
      if (!after.refs().containsKey(branch)) {
        if (!mayMove(intent, branch)) {
          throw broken("branch %s went".formatted(branch));
        }
        heads.remove(branch);
      }
    }
    return changed;
  }

  /** A late write comes to all archived states since its time, and to main. */
  private void checkLate(@Nullable Write write, Set<String> changed) {
    if (write != null && write.since != null && changed.contains("main")) {
      heads.forEach(
          (branch, head) -> {
            boolean isSince = branch.equals("main") || branch.compareTo(write.since) >= 0;
            boolean isState = branch.equals("main") || branch.startsWith("history_");
            if (isState && states.get(head).contains(write) != isSince) {
              throw broken(
                  "%s is of %s, and branch %s has %s"
                      .formatted(write, write.since, branch, states.get(head)));
            }
          });
    }
  }

  /** Rows that are held back come to the table with the others of their write, or not at all. */
  private static void checkHeld(Intent intent) {
    Write held = intent.held();
    if (held != null && held.snapshots.isEmpty() != intent.write().snapshots.isEmpty()) {
      throw broken("%s and %s came apart".formatted(intent.write(), held));
    }
  }

  private static boolean mayMove(Intent intent, String branch) {
    return Intent.holds(intent.moves(), branch);
  }

  private void advance(
      Intent intent, String branch, @Nullable Long from, Snapshot head, TableMetadata after) {
    Deque<Snapshot> added = new ArrayDeque<>();
    Snapshot each = head;
    while (each != null && !states.containsKey(each.snapshotId())) {
      added.push(each);
      Long parent = each.parentId();
      each = parent == null ? null : after.snapshot(parent);
      if (each == null && parent != null && states.containsKey(parent)) {
        break;
      }
      if (each == null && parent != null) {
        throw broken("a parent of %d was never there".formatted(head.snapshotId()));
      }
    }
    if (!isBehind(from, branch, head, after) && !mayMove(intent, branch)) {
      throw broken(
          "branch %s stood at %s, and %d is not behind that: commits are lost"
              .formatted(branch, from, head.snapshotId()));
    }
    Long base = added.isEmpty() ? Long.valueOf(head.snapshotId()) : added.peek().parentId();
    List<Write> state = base == null ? List.of() : Objects.requireNonNull(states.get(base));
    for (Snapshot next : added) {
      state = with(intent, branch, state, next);
      states.put(next.snapshotId(), state);
    }
    if (from != null && !intent.loses() && !state.containsAll(states.get(from))) {
      throw broken("branch %s had %s, and has %s now".formatted(branch, states.get(from), state));
    }
  }

  /** A branch that stood at a snapshot has that, and commits behind it. */
  private static boolean isBehind(
      @Nullable Long from, String branch, Snapshot head, TableMetadata after) {
    Snapshot each = head;
    while (from != null && each != null) {
      if (from == each.snapshotId() || from.equals(each.parentId())) {
        return true;
      }
      each = each.parentId() == null ? null : after.snapshot(each.parentId());
    }
    return from == null && branch.equals("main");
  }

  private List<Write> with(Intent intent, String branch, List<Write> state, Snapshot snapshot) {
    if (WriteSummary.CREATE_QUARANTINE.equals(snapshot.summary().get(WriteSummary.VERB))) {
      return List.of(); // it leaves out all that the other branch has
    }
    Set<Write> writes = new HashSet<>();
    Set<String> files = new HashSet<>();
    Set<String> added = new HashSet<>(laws.needed(snapshot.snapshotId()));
    if (snapshot.parentId() != null) {
      added.removeAll(laws.needed(snapshot.parentId()));
    }
    for (String file : added) {
      Write write = byFile.get(file);
      if (write != null) {
        writes.add(write);
        files.add(file);
      }
    }
    Write own = intent.write();
    if (own != null && own.files.isEmpty() && Intent.holds(own.branches, branch)) {
      writes.add(own); // an undo, or an overwrite with nothing
    }
    if (writes.size() > 1) {
      throw broken("one snapshot has %s".formatted(writes));
    }
    if (writes.isEmpty()) {
      return state;
    }
    Write write = writes.iterator().next();
    if (!files.equals(write.files)) {
      throw broken("of %s there are the files %s, not %s".formatted(write, files, write.files));
    }
    if (!Intent.holds(write.branches, branch) && !Intent.holds(intent.copies(), branch)) {
      throw broken("%s came to branch %s, for which it is not".formatted(write, branch));
    }
    if (state.contains(write)) {
      throw broken("%s is on branch %s twice".formatted(write, branch));
    }
    write.snapshots.add(snapshot.snapshotId());
    List<Write> next = new ArrayList<>(state);
    next.add(write);
    checkOnce(branch, next, write);
    return next;
  }

  private static void checkOnce(String branch, List<Write> state, Write last) {
    for (Write each : counting(state)) {
      if (each != last && last.key != null && last.key.equals(each.key)) {
        throw broken("%s and %s on %s have the same key".formatted(each, last, branch));
      }
      if (each != last && last.offsets != null && each.offsets != null) {
        if (last.offsets[0] < each.offsets[1] && each.offsets[0] < last.offsets[1]) {
          throw broken("%s and %s on %s have the same offsets".formatted(each, last, branch));
        }
      }
    }
  }

  /** The writes that no later one has undone. */
  static List<Write> counting(List<Write> state) {
    Set<Long> undone = new HashSet<>();
    List<Write> counting = new ArrayList<>();
    for (int i = state.size() - 1; i >= 0; i--) {
      Write write = state.get(i);
      if (write.snapshots.stream().noneMatch(undone::contains)) {
        undone.addAll(write.undone);
        counting.add(0, write);
      }
    }
    return counting;
  }

  /** The rows of a state, by the law. */
  static List<StoredRow> rows(List<Write> state) {
    List<List<WrittenRow>> commits = new ArrayList<>();
    for (Write write : counting(state)) {
      if (write.kind == Write.Kind.OVERWRITE) {
        commits.clear();
      }
      commits.add(write.rows);
    }
    return MergeLaw.history(commits, MemoryTable.REDUCTIONS);
  }

  /** The writes of a snapshot; null for one that nobody has seen. */
  @Nullable List<Write> state(long snapshotId) {
    return states.get(snapshotId);
  }

  /** The writes of a branch; none where it is not there. */
  List<Write> stateOf(String branch) {
    Long head = heads.get(branch);
    return head == null ? List.of() : Objects.requireNonNull(states.get(head));
  }

  Map<String, Long> heads() {
    return heads;
  }
}
