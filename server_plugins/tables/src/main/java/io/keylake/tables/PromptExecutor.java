package io.keylake.tables;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Runs what one commit has to do with its manifests: on the thread that submits it while that is
 * quick, and on Iceberg's pool when it was not, as in an object store. Iceberg waits for a pool in
 * steps of ten milliseconds, and several times in a commit, which is longer than the work itself
 * where files are near.
 */
public final class PromptExecutor extends AbstractExecutorService {
  private static final long QUICK = TimeUnit.MILLISECONDS.toNanos(20);

  private final ExecutorService pool = Machine.here().workers();
  private long spent;
  private volatile boolean isShutdown;

  @Override
  public void execute(Runnable command) {
    if (spent > QUICK) {
      pool.execute(command);
      return;
    }
    long begun = Machine.here().nanos();
    command.run();
    spent += Machine.here().nanos() - begun;
  }

  /** Ends this and not the pool. */
  @Override
  public void shutdown() {
    isShutdown = true;
  }

  @Override
  public List<Runnable> shutdownNow() {
    shutdown();
    return List.of();
  }

  @Override
  public boolean isShutdown() {
    return isShutdown;
  }

  @Override
  public boolean isTerminated() {
    return isShutdown;
  }

  @Override
  public boolean awaitTermination(long timeout, TimeUnit unit) {
    return isShutdown;
  }
}
