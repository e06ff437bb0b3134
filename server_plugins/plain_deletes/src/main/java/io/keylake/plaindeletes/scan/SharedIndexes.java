package io.keylake.plaindeletes.scan;

import io.keylake.plaindeletes.index.DeleteIndex;
import io.keylake.spark.engine.CountedMemory;
import io.keylake.spark.engine.LocalDirectory;
import io.keylake.tables.storage.MemoryBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.jspecify.annotations.Nullable;

/**
 * The indexes of equality deletes of a process. Each is loaded by the first task that wants it,
 * while others that want it wait, and shared by all of them.
 *
 * <p>An index that no task holds is freed at once if all tasks of the scan that need it have been
 * here. Otherwise it is kept for those that have not, until its memory is needed for something else
 * or some seconds have passed: they may run in another process, or never.
 *
 * <p>A task that holds no index waits for those that others hold, if both together would need more
 * memory than the largest one of the scan. So memory does not grow with the number of tasks that
 * run at once. A task that holds one never waits for memory: its next index is on disk if there is
 * none.
 */
final class SharedIndexes {
  private static final SharedIndexes OF_THIS_PROCESS = new SharedIndexes(Duration.ofSeconds(10));
  private static final int MILLISECONDS_BETWEEN_LOOKS = 200;
  private static final int SHARE_OF_HEAP = 4;
  private static final int SHARE_OF_BUDGET = 4;
  private static final int BYTES_OF_KEY = 16;

  private final Map<Id, Shared> indexes = new HashMap<>();
  private final Map<Long, Integer> heldByTask = new HashMap<>();
  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(
          work -> {
            Thread thread = new Thread(work, "keylake-delete-indexes");
            thread.setDaemon(true);
            return thread;
          });
  private final Duration kept;
  private long taken;

  /**
   * @param kept how long an index stays that nobody holds, though some task may want it
   */
  SharedIndexes(Duration kept) {
    this.kept = kept;
  }

  private record Id(String scan, int group) {}

  private static final class Shared {
    private final Id id;
    private final long deletes;
    private final int uses;
    private final BitSet finished = new BitSet();
    private int holders = 1;
    private long timesHeld = 1;
    private @Nullable DeleteIndex index; // null while it is loaded
    private @Nullable LocalDirectory directory;

    Shared(Id id, ScanDeletes scan) {
      this.id = id;
      deletes = scan.deletes(id.group());
      uses = scan.uses()[id.group()];
    }

    boolean isIdle() {
      return index != null && holders == 0;
    }

    boolean isFinished() {
      return isIdle() && finished.cardinality() >= uses;
    }
  }

  static SharedIndexes ofThisProcess() {
    return OF_THIS_PROCESS;
  }

  /** An index for a task, which has to release it. */
  DeleteIndex acquire(ScanDeletes scan, int group, TaskContext task, DeleteCounters counters) {
    Shared shared = held(scan, new Id(scan.scan(), group), task);
    DeleteIndex index = shared.index;
    return index == null ? loaded(shared, scan, task, counters) : index;
  }

  /** One that has no index yet is new, and to be loaded by this task. */
  private synchronized Shared held(ScanDeletes scan, Id id, TaskContext task) {
    while (true) {
      Shared there = indexes.get(id);
      if (there != null && there.index != null) {
        there.holders++;
        there.timesHeld++;
        heldByTask.merge(task.taskAttemptId(), 1, Integer::sum);
        return there;
      }
      if (there == null && !mustWait(scan, id, task)) {
        Shared shared = new Shared(id, scan);
        if (deletes(scan, any -> true) + shared.deletes > mostDeletes(scan)) {
          freeIdle();
        }
        indexes.put(id, shared);
        heldByTask.merge(task.taskAttemptId(), 1, Integer::sum);
        return shared;
      }
      pause(task);
    }
  }

  private boolean mustWait(ScanDeletes scan, Id id, TaskContext task) {
    long held = deletes(scan, shared -> !shared.isIdle());
    return held > 0
        && held + scan.deletes(id.group()) > mostDeletes(scan)
        && !heldByTask.containsKey(task.taskAttemptId());
  }

  private long deletes(ScanDeletes scan, Predicate<Shared> which) {
    return indexes.values().stream()
        .filter(shared -> shared.id.scan().equals(scan.scan()))
        .filter(which)
        .mapToLong(shared -> shared.deletes)
        .sum();
  }

  /** The number of deletes that indexes of a scan may have at once: small ones need not wait. */
  private static long mostDeletes(ScanDeletes scan) {
    return Math.max(scan.mostDeletes(), limit(scan) / SHARE_OF_BUDGET / BYTES_OF_KEY);
  }

  private static long limit(ScanDeletes scan) {
    return Math.min(
        scan.memoryBytes(),
        scan.memoryBytes() == Long.MAX_VALUE
            ? Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP
            : Long.MAX_VALUE);
  }

  private void pause(TaskContext task) {
    try {
      wait(MILLISECONDS_BETWEEN_LOOKS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TaskKilledException("while waiting for equality deletes");
    }
    if (task.isInterrupted()) {
      throw new TaskKilledException("while waiting for equality deletes");
    }
  }

  private DeleteIndex loaded(
      Shared shared, ScanDeletes scan, TaskContext task, DeleteCounters counters) {
    LocalDirectory directory = null;
    DeleteIndex index = null;
    try {
      directory = LocalDirectory.create("keylake-deletes");
      index =
          DeleteIndex.load(
              scan.groups().get(shared.id.group()),
              new DeleteRows(scan.table(), task, counters),
              new Budget(limit(scan)),
              directory.path().toPath());
      counters.keysLoaded += index.keys();
      counters.bytesSpilled += index.spilledBytes();
      counters.memoryTaken += index.memoryBytes();
      return index;
    } finally {
      synchronized (this) {
        if (index == null) {
          indexes.remove(shared.id);
          noLongerHeld(task);
          if (directory != null) {
            directory.close();
          }
        } else {
          shared.directory = directory;
          shared.index = index;
        }
        notifyAll();
      }
    }
  }

  private void noLongerHeld(TaskContext task) {
    heldByTask.computeIfPresent(
        task.taskAttemptId(), (any, count) -> count == 1 ? null : count - 1);
  }

  /**
   * The task needs an index no longer, for now.
   *
   * @return how much memory became free
   */
  synchronized long release(ScanDeletes scan, int group, TaskContext task) {
    Shared shared = indexes.get(new Id(scan.scan(), group));
    noLongerHeld(task);
    if (shared == null) {
      return 0;
    }
    shared.holders--;
    notifyAll();
    if (shared.isFinished()) {
      return free(shared);
    }
    if (shared.isIdle()) {
      long held = shared.timesHeld;
      timer.schedule(
          () -> freeUnlessHeldSince(shared, held), kept.toMillis(), TimeUnit.MILLISECONDS);
    }
    return 0;
  }

  /**
   * A task has read all its rows.
   *
   * @param groups that it needed
   * @param number of the task in the scan
   * @return how much memory became free
   */
  synchronized long finish(ScanDeletes scan, Collection<Integer> groups, int number) {
    long freed = 0;
    for (int group : groups) {
      Shared shared = indexes.get(new Id(scan.scan(), group));
      if (shared != null) {
        shared.finished.set(number);
        freed += shared.isFinished() ? free(shared) : 0;
      }
    }
    return freed;
  }

  private synchronized void freeUnlessHeldSince(Shared shared, long timesHeld) {
    if (shared.isIdle() && shared.timesHeld == timesHeld && indexes.get(shared.id) == shared) {
      free(shared);
    }
  }

  private synchronized void freeIdle() {
    List<Shared> idle = new ArrayList<>(indexes.values());
    idle.removeIf(shared -> !shared.isIdle());
    idle.forEach(this::free);
  }

  private long free(Shared shared) {
    indexes.remove(shared.id);
    long bytes = 0;
    if (shared.index != null) {
      bytes = shared.index.memoryBytes();
      shared.index.close();
    }
    if (shared.directory != null) {
      shared.directory.close();
    }
    notifyAll();
    return bytes;
  }

  private synchronized boolean take(long bytes, long limit) {
    if (taken + bytes <= limit && CountedMemory.take(bytes)) {
      taken += bytes;
      return true;
    }
    return false;
  }

  private synchronized void give(long bytes) {
    taken -= bytes;
    CountedMemory.give(bytes);
  }

  /** Memory that Spark counts; what nobody holds goes before there is too little of it. */
  private final class Budget implements MemoryBudget {
    private final long limit;

    Budget(long limit) {
      this.limit = limit;
    }

    @Override
    public boolean take(long bytes) {
      if (SharedIndexes.this.take(bytes, limit)) {
        return true;
      }
      freeIdle();
      return SharedIndexes.this.take(bytes, limit);
    }

    @Override
    public void give(long bytes) {
      SharedIndexes.this.give(bytes);
    }
  }
}
