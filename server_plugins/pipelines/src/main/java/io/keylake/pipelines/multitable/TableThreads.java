package io.keylake.pipelines.multitable;

import io.keylake.spark.access.ServerWork;
import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;

/** Does something for each of many tables, a few at a time: most of it is waiting for a store. */
final class TableThreads implements AutoCloseable {
  private static final int AT_ONCE = 16;

  private final ExecutorService threads =
      Executors.newFixedThreadPool(
          AT_ONCE,
          work -> {
            Thread thread = new Thread(work, "keylake-tables");
            thread.setDaemon(true);
            return thread;
          });

  /** The results in order; what fails here was not foreseen. */
  <T, R> List<R> map(List<T> each, Function<T, R> work) {
    List<Future<R>> running = new ArrayList<>();
    each.forEach(one -> running.add(threads.submit(ServerWork.carried(() -> work.apply(one)))));
    List<R> results = new ArrayList<>();
    for (Future<R> one : running) {
      try {
        results.add(one.get());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new CancellationException("the write to many tables was cancelled");
      } catch (ExecutionException e) {
        throw e.getCause() instanceof KeylakeException ours
            ? ours
            : new IllegalStateException(e.getCause());
      }
    }
    return results;
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
