package io.keylake.tables;

import java.time.Instant;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Lock;
import org.apache.iceberg.util.ThreadPools;

/**
 * The machine that a commit runs on: its clock, its pauses, its locks and its threads. All code of
 * this module asks it for them, so that a simulation can give each of its threads a machine whose
 * clock is wrong and whose pauses take no time. A thread that was given none has the real one.
 */
public class Machine {
  private static final Machine REAL = new Machine();
  private static final ThreadLocal<Machine> SIMULATED = new ThreadLocal<>();

  protected Machine() {}

  /** The machine of the thread that asks. */
  public static Machine here() {
    Machine simulated = SIMULATED.get();
    return simulated == null ? REAL : simulated;
  }

  /** Runs something on a machine; the thread has its earlier machine afterwards. */
  protected static <T> T on(Machine machine, Callable<T> run) throws Exception {
    Machine before = SIMULATED.get();
    SIMULATED.set(machine);
    try {
      return run.call();
    } finally {
      if (before == null) {
        SIMULATED.remove();
      } else {
        SIMULATED.set(before);
      }
    }
  }

  /** The time by its clock, which may be wrong. */
  public Instant now() {
    return Instant.now();
  }

  /** A count of nanoseconds that only ever grows. */
  public long nanos() {
    return System.nanoTime();
  }

  /** Waits. */
  public void sleep(long millis) throws InterruptedException {
    Thread.sleep(millis);
  }

  /** Takes a lock when its holder has given it back. */
  public void lock(Lock lock) throws InterruptedException {
    lock.lockInterruptibly();
  }

  /**
   * A random number.
   *
   * @param bound that it is below
   */
  public int random(int bound) {
    return ThreadLocalRandom.current().nextInt(bound);
  }

  /** The threads that read and write files for others. */
  public ExecutorService workers() {
    return ThreadPools.getWorkerPool();
  }
}
