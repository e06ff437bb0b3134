package io.keylake.spark.write;

import io.keylake.tables.StoreFailure;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.jspecify.annotations.Nullable;

/**
 * Writes the parts of a write in this process: as many at once as there are processors, and more
 * where the store takes its time for a file. The thread that waits for them works, too, so that
 * each write goes on, however many there are.
 */
final class PartRun {
  static final int MOST_AT_ONCE = 8;

  private static final int QUICK_AT_ONCE = Runtime.getRuntime().availableProcessors();
  private static final long QUICK = TimeUnit.MILLISECONDS.toNanos(20);
  private static final ThreadPoolExecutor HELPERS = helpers();

  private final String table;
  private final List<Part> parts;
  private final AtomicInteger begun = new AtomicInteger();
  private final AtomicInteger workers = new AtomicInteger(1);
  private final CountDownLatch running;
  private final AtomicReferenceArray<@Nullable WriterCommitMessage> written;
  private final AtomicReferenceArray<@Nullable Throwable> failures;

  /** Rows and what writes them. */
  record Part(DataWriter<InternalRow> writer, List<InternalRow> rows) {}

  /**
   * @param table its name, for sentences
   */
  PartRun(String table, List<Part> parts) {
    this.table = table;
    this.parts = parts;
    this.running = new CountDownLatch(parts.size());
    this.written = new AtomicReferenceArray<>(parts.size());
    this.failures = new AtomicReferenceArray<>(parts.size());
  }

  private static ThreadPoolExecutor helpers() {
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            MOST_AT_ONCE - 1,
            MOST_AT_ONCE - 1,
            1,
            TimeUnit.MINUTES,
            new LinkedBlockingQueue<>(),
            work -> {
              Thread thread = new Thread(work, "keylake-small-writes");
              thread.setDaemon(true);
              thread.setContextClassLoader(PartRun.class.getClassLoader()); // not a session's
              return thread;
            });
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /** Returns when no part is being written any more, and fails with the first that has failed. */
  void finish() {
    help(QUICK_AT_ONCE);
    work();
    await();
    for (int i = 0; i < parts.size(); i++) {
      Throwable failure = failures.get(i);
      if (failure instanceof Error error) {
        throw error;
      }
      if (failure != null) {
        throw failure instanceof RuntimeException exception
            ? exception
            : StoreFailure.writing(table, (IOException) failure);
      }
    }
  }

  /** The results of the parts that did not fail. */
  WriterCommitMessage[] written() {
    List<WriterCommitMessage> all = new ArrayList<>();
    for (int i = 0; i < parts.size(); i++) {
      WriterCommitMessage message = written.get(i);
      if (message != null) {
        all.add(message);
      }
    }
    return all.toArray(WriterCommitMessage[]::new);
  }

  private void help(int most) {
    while (workers.get() < Math.min(most, parts.size())) {
      workers.incrementAndGet();
      HELPERS.execute(this::work);
    }
  }

  private void work() {
    for (int i = begun.getAndIncrement(); i < parts.size(); i = begun.getAndIncrement()) {
      long start = System.nanoTime();
      try {
        written.set(i, write(parts.get(i)));
      } catch (Throwable e) { // is thrown where it is waited for
        failures.set(i, e);
      } finally {
        running.countDown();
      }
      if (System.nanoTime() - start > QUICK) {
        help(MOST_AT_ONCE);
      }
    }
  }

  /** Writes a part as Spark does it in a task. */
  private static WriterCommitMessage write(Part part) throws IOException {
    try (DataWriter<InternalRow> writer = part.writer) {
      try {
        for (InternalRow row : part.rows) {
          writer.write(row);
        }
        return writer.commit();
      } catch (Throwable e) {
        try {
          writer.abort();
        } catch (IOException | RuntimeException again) {
          e.addSuppressed(again);
        }
        throw e;
      }
    }
  }

  /** Files that are being written are waited for: what is left of them could not be deleted. */
  private void await() {
    boolean isInterrupted = false;
    while (running.getCount() > 0) {
      try {
        running.await();
      } catch (InterruptedException e) {
        isInterrupted = true;
      }
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
