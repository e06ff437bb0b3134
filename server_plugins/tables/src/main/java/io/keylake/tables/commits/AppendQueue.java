package io.keylake.tables.commits;

import io.keylake.tables.Machine;
import io.keylake.tables.commits.Commits.Result;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.jspecify.annotations.Nullable;

/**
 * Appends that writers of this process commit to one branch at the same time. They take turns, and
 * whoever has the turn commits what waits as well: one change of the table's metadata, and a
 * snapshot for each append. Otherwise all but one of them would lose, and try again.
 */
final class AppendQueue {
  private static final int MOST_TOGETHER = 64;
  private static final Map<Place, AppendQueue> QUEUES = new ConcurrentHashMap<>();

  private final ReentrantLock turn = new ReentrantLock(true);
  private final Deque<Waiting> waiting = new ArrayDeque<>();
  private int writers;

  private AppendQueue() {}

  /**
   * A branch of a table.
   *
   * @param access how the table is reached: nobody commits with what another one may do
   */
  private record Place(String table, @Nullable String branch, Object access) {
    static Place of(Table table, @Nullable String branch) {
      return new Place(table.uuid().toString(), branch, access(table.io()));
    }

    private static Object access(FileIO io) {
      try {
        return new HashMap<>(io.properties()); // values may be null
      } catch (UnsupportedOperationException e) {
        return io;
      }
    }
  }

  private static final class Waiting {
    private final Append append;
    private boolean isAlone; // it was tried together with others, in vain
    private @Nullable Result result;
    private @Nullable RuntimeException failure;

    Waiting(Append append) {
      this.append = append;
      this.isAlone = !append.labels().isPlain();
    }

    boolean isDone() {
      return result != null || failure != null;
    }
  }

  /**
   * Commits an append, alone or together with those of others.
   *
   * @param commits of the table
   */
  static Result make(Commits commits, Table table, Append append) {
    Place place = Place.of(table, append.branch());
    Waiting own = new Waiting(append);
    AppendQueue queue = QUEUES.compute(place, (any, there) -> entered(there, own));
    try {
      return queue.result(commits, own);
    } finally {
      QUEUES.computeIfPresent(place, (any, there) -> --there.writers == 0 ? null : there);
    }
  }

  private static AppendQueue entered(@Nullable AppendQueue there, Waiting own) {
    AppendQueue queue = there == null ? new AppendQueue() : there;
    queue.writers++;
    synchronized (queue.waiting) {
      queue.waiting.add(own);
    }
    return queue;
  }

  private Result result(Commits commits, Waiting own) {
    try {
      Machine.here().lock(turn);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      if (isWithdrawn(own)) {
        throw commits.interrupted(own.append);
      }
      turn.lock(); // somebody is committing it
    }
    boolean isByOther;
    try {
      isByOther = own.isDone();
      if (!isByOther) {
        commit(commits, own);
      }
    } finally {
      turn.unlock();
    }
    if (own.failure != null) {
      throw own.failure;
    }
    if (isByOther) {
      commits.look();
    }
    return Objects.requireNonNull(own.result, "it had its turn");
  }

  private boolean isWithdrawn(Waiting own) {
    synchronized (waiting) {
      return waiting.remove(own);
    }
  }

  private void commit(Commits commits, Waiting own) {
    List<Waiting> group = taken(own);
    if (group.size() > 1 && !isCommitted(commits, group)) {
      group.forEach(each -> each.isAlone = true);
    }
    if (!own.isDone()) {
      own.result = commits.makeAlone(own.append);
    }
  }

  /** Whose turn it is, and those that can be committed with it. */
  private List<Waiting> taken(Waiting own) {
    List<Waiting> group = new ArrayList<>(List.of(own));
    synchronized (waiting) {
      waiting.remove(own);
      if (!own.isAlone) {
        waiting.stream().filter(each -> !each.isAlone).limit(MOST_TOGETHER - 1).forEach(group::add);
        waiting.removeAll(group);
      }
    }
    return group;
  }

  /**
   * Commits a group; gives false where it is certain that none of them is committed: each is tried
   * alone in its turn.
   */
  private boolean isCommitted(Commits commits, List<Waiting> group) {
    try {
      List<Long> snapshots = commits.together(group.stream().map(each -> each.append).toList());
      IntStream.range(0, snapshots.size())
          .forEach(i -> group.get(i).result = new Result(true, snapshots.get(i), null));
      return !snapshots.isEmpty();
    } catch (RuntimeException e) {
      group.forEach(each -> each.failure = e);
      return true;
    } catch (Error e) {
      group.forEach(each -> each.failure = new IllegalStateException(e));
      throw e;
    }
  }
}
