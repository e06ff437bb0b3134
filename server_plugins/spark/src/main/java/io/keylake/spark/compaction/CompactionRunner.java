package io.keylake.spark.compaction;

import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.CommitLog;
import io.keylake.tables.Compaction;
import io.keylake.tables.CompactionPlan;
import io.keylake.tables.CompactionPlanner;
import io.keylake.tables.CompactionPolicy;
import io.keylake.tables.KeyedSchema;
import io.keylake.tables.KeylakeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;

/**
 * Carries out what a policy wants of a table:
 *
 * <ol>
 *   <li>Plan; run each merge as a task of its own; commit it as soon as it is done.
 *   <li>A merge whose input vanished meanwhile, in another compaction or an overwrite, deletes what
 *       it wrote and is not tried again.
 *   <li>Plan again, until nothing is wanted: a merged run may fill the tier above.
 * </ol>
 */
public final class CompactionRunner {
  /** More rounds would mean that merging does not help; every round makes fewer runs. */
  private static final int MOST_ROUNDS = 64;

  private final SparkContext spark;
  private final Table table;
  private final String branch;
  private final CompactionPolicy policy;

  /**
   * @param branch null for main
   */
  public CompactionRunner(SparkContext spark, Table table, String branch, CompactionPolicy policy) {
    this.spark = spark;
    this.table = table;
    this.branch = branch;
    this.policy = policy;
  }

  /**
   * What came of one merge.
   *
   * @param files that it wrote; null where it lost its inputs to another commit
   */
  public record Outcome(Compaction compaction, List<DataFile> files, double seconds) {
    public boolean isCommitted() {
      return files != null;
    }

    public long rowsWritten() {
      return isCommitted() ? files.stream().mapToLong(DataFile::recordCount).sum() : 0;
    }

    public long bytesWritten() {
      return isCommitted() ? files.stream().mapToLong(DataFile::fileSizeInBytes).sum() : 0;
    }
  }

  /**
   * Compacts until the policy is content.
   *
   * @param atOnce how many merges run side by side; each keeps one core busy
   */
  public List<Outcome> run(int atOnce) {
    List<Outcome> outcomes = new ArrayList<>();
    Set<Object> lost = new HashSet<>();
    for (int round = 0; round < MOST_ROUNDS; round++) {
      List<Compaction> wanted =
          plan().compactions().stream()
              .filter(compaction -> !lost.contains(compaction.partition().toString()))
              .toList();
      if (wanted.isEmpty()) {
        break;
      }
      List<Outcome> ofRound = run(wanted, atOnce);
      ofRound.stream()
          .filter(outcome -> !outcome.isCommitted())
          .forEach(outcome -> lost.add(outcome.compaction().partition().toString()));
      outcomes.addAll(ofRound);
    }
    return outcomes;
  }

  /** What the policy wants now. */
  public CompactionPlan plan() {
    try {
      table.refresh();
      return new CompactionPlanner(table, branch, policy, Instant.now()).plan();
    } catch (NoSuchTableException e) {
      throw gone();
    }
  }

  private List<Outcome> run(List<Compaction> wanted, int atOnce) {
    Broadcast<Table> copy =
        JavaSparkContext.fromSparkContext(spark).broadcast(SerializableTable.copyOf(table));
    // New threads know what the calling thread told Spark: whose jobs these are, and how to cancel.
    ExecutorService threads = Executors.newFixedThreadPool(Math.max(atOnce, 1));
    try {
      List<Future<Outcome>> running = new ArrayList<>();
      for (Compaction compaction : wanted) {
        running.add(threads.submit(() -> run(compaction, copy)));
      }
      return ended(running);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("the compaction was interrupted", e);
    } finally {
      threads.shutdownNow();
      copy.destroy();
    }
  }

  /** What came of all of them. One that fails does not stop the others; its error is told last. */
  private static List<Outcome> ended(List<Future<Outcome>> running) throws InterruptedException {
    List<Outcome> outcomes = new ArrayList<>();
    Throwable failure = null;
    for (Future<Outcome> each : running) {
      try {
        outcomes.add(each.get());
      } catch (ExecutionException e) {
        failure = failure == null ? e.getCause() : failure;
      }
    }
    if (failure != null) {
      throw failure instanceof RuntimeException cause ? cause : new IllegalStateException(failure);
    }
    return outcomes;
  }

  private Outcome run(Compaction compaction, Broadcast<Table> copy) {
    long start = System.nanoTime();
    KeyedSchema schema = KeyedSchema.of(table);
    CompactionWork work =
        new CompactionWork(
            schema,
            compaction.stretches(),
            compaction.tuple(),
            "compact-" + UUID.randomUUID(),
            policy.targetFileBytes());
    List<DataFile> files =
        List.of(
            JavaSparkContext.fromSparkContext(spark)
                .parallelize(List.of(work), 1)
                .map(new CompactionWork.Runner(copy))
                .collect()
                .get(0));
    boolean isCommitted = false;
    try {
      isCommitted = commit(compaction, files);
    } catch (CommitStateUnknownException e) {
      isCommitted = true; // the files may be part of the table
      throw e;
    } finally {
      if (!isCommitted) {
        files.forEach(file -> table.io().deleteFile(file.location()));
      }
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    return new Outcome(compaction, isCommitted ? files : null, seconds);
  }

  /** One at a time: they would only have to try again. */
  private synchronized boolean commit(Compaction compaction, List<DataFile> files) {
    try {
      table.refresh();
      return new CommitLog(table, branch).replace(compaction, files);
    } catch (NoSuchTableException e) {
      throw gone();
    }
  }

  private KeylakeException gone() {
    return new KeylakeException(
        NOT_FOUND,
        "table %s was dropped while it was compacted; there is nothing left to do"
            .formatted(table.name()));
  }
}
