package io.keylake.spark.maintenance;

import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.compaction.Compaction;
import io.keylake.tables.compaction.CompactionChange;
import io.keylake.tables.compaction.CompactionPlan;
import io.keylake.tables.compaction.CompactionPlanner;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.compaction.SettledBuckets;
import io.keylake.tables.compaction.Settlement;
import io.keylake.tables.compaction.SettlementChange;
import io.keylake.tables.history.Settled;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.jspecify.annotations.Nullable;

/**
 * Carries out what a policy wants of a table:
 *
 * <ol>
 *   <li>Plan; run each merge as a task of its own; commit it as soon as it is done.
 *   <li>A merge whose input vanished meanwhile, in another compaction or an overwrite, deletes what
 *       it wrote and is not tried again.
 *   <li>Plan again, until nothing is wanted: a merged run may fill the tier above.
 *   <li>At the end settle what the policy wants settled: all buckets, in one commit.
 * </ol>
 */
public final class CompactionRunner {
  /** More rounds would mean that merging does not help; every round makes fewer runs. */
  private static final int MOST_ROUNDS = 64;

  private final SparkContext spark;
  private final Table table;
  private final @Nullable String branch;
  private final CompactionPolicy policy;

  /**
   * @param branch null for main
   */
  public CompactionRunner(
      SparkContext spark, Table table, @Nullable String branch, CompactionPolicy policy) {
    this.spark = spark;
    this.table = table;
    this.branch = branch;
    this.policy = policy;
  }

  /**
   * The result of one merge, or of settling one bucket.
   *
   * @param isCommitted false where it lost its inputs to another commit
   * @param read what was looked at
   * @param written data files, or files that say which rows are superseded
   * @param rowsSuperseded rows that were dropped, or are known to be superseded from now on
   */
  public record Outcome(
      List<Serializable> partition,
      boolean isCommitted,
      String reason,
      String because,
      Amount read,
      Amount written,
      long rowsSuperseded,
      double seconds) {

    static Outcome of(
        Compaction compaction, List<DataFile> files, boolean isCommitted, long start) {
      Amount read = new Amount(compaction.inputs().size(), compaction.rows(), compaction.bytes());
      Amount written =
          isCommitted
              ? new Amount(
                  files.size(),
                  files.stream().mapToLong(DataFile::recordCount).sum(),
                  files.stream().mapToLong(DataFile::fileSizeInBytes).sum())
              : Amount.NOTHING;
      return new Outcome(
          compaction.partition(),
          isCommitted,
          compaction.reason(),
          compaction.because(),
          read,
          written,
          isCommitted ? read.rows() - written.rows() : 0,
          secondsSince(start));
    }

    static Outcome of(SettledBuckets.SettledBucket found, boolean isCommitted, long start) {
      Settlement settlement = found.settlement();
      return new Outcome(
          settlement.partition(),
          isCommitted,
          Settlement.REASON,
          settlement.because(),
          new Amount(settlement.inputs().size(), settlement.rows(), settlement.bytes()),
          isCommitted ? new Amount(found.superseded().size(), 0, found.bytes()) : Amount.NOTHING,
          isCommitted ? found.rows() : 0,
          secondsSince(start));
    }

    private static double secondsSince(long start) {
      return (System.nanoTime() - start) / 1e9;
    }
  }

  /** An amount of stored data. */
  public record Amount(long files, long rows, long bytes) {
    static final Amount NOTHING = new Amount(0, 0, 0);
  }

  /**
   * Compacts until the policy asks for no more merges.
   *
   * @param atOnce how many merges run side by side; each keeps one core busy
   */
  public List<Outcome> run(int atOnce) {
    List<Outcome> outcomes = new ArrayList<>();
    Set<Object> lost = new HashSet<>();
    for (int round = 0; round < MOST_ROUNDS; round++) {
      CompactionPlan plan = plan();
      List<Compaction> wanted =
          plan.compactions().stream()
              .filter(compaction -> !lost.contains(compaction.partition()))
              .toList();
      if (wanted.isEmpty()) {
        outcomes.addAll(settle(plan, atOnce));
        break;
      }
      List<Outcome> ofRound = merge(plan.schema(), wanted, atOnce);
      ofRound.stream()
          .filter(outcome -> !outcome.isCommitted())
          .forEach(outcome -> lost.add(outcome.partition()));
      outcomes.addAll(ofRound);
    }
    return outcomes;
  }

  /** The plan of what the policy wants now. */
  public CompactionPlan plan() {
    try {
      table.refresh();
      return new CompactionPlanner(table, branch, policy, Instant.now()).plan();
    } catch (NoSuchTableException e) {
      throw gone();
    }
  }

  private List<Outcome> merge(KeyedSchema schema, List<Compaction> wanted, int atOnce) {
    Broadcast<Table> copy = broadcast();
    try {
      List<Callable<Outcome>> merges = new ArrayList<>();
      wanted.forEach(compaction -> merges.add(() -> merge(schema, compaction, copy)));
      return sideBySide(merges, atOnce);
    } finally {
      copy.destroy();
    }
  }

  /** All or nothing: a snapshot is settled as a whole. */
  private List<Outcome> settle(CompactionPlan plan, int atOnce) {
    if (plan.settlements().isEmpty()) {
      return List.of();
    }
    long start = System.nanoTime();
    String operation = Settled.operation(UUID.randomUUID().toString());
    Broadcast<Table> copy = broadcast();
    List<SettledBuckets.SettledBucket> found;
    try {
      List<Callable<SettledBuckets.SettledBucket>> looks = new ArrayList<>();
      for (Settlement each : plan.settlements()) {
        SettleWork work = SettleWork.of(plan.schema(), each, operation);
        looks.add(() -> look(each, work, copy));
      }
      found = sideBySide(looks, atOnce);
    } finally {
      copy.destroy();
    }
    boolean isCommitted = isCommitted(new SettlementChange(branch, SettledBuckets.of(plan, found)));
    return found.stream().map(each -> Outcome.of(each, isCommitted, start)).toList();
  }

  private SettledBuckets.SettledBucket look(
      Settlement settlement, SettleWork work, Broadcast<Table> copy) {
    SettleWork.Done done =
        JavaSparkContext.fromSparkContext(spark)
            .parallelize(List.of(work), 1)
            .map(new SettleWork.Runner(copy))
            .collect()
            .get(0);
    return new SettledBuckets.SettledBucket(settlement, done.superseded(), done.isUnique());
  }

  private Broadcast<Table> broadcast() {
    return JavaSparkContext.fromSparkContext(spark).broadcast(SerializableTable.copyOf(table));
  }

  /** New threads know what this one told Spark: whose jobs these are, and how to cancel them. */
  private static <T> List<T> sideBySide(List<Callable<T>> works, int atOnce) {
    ExecutorService threads = Executors.newFixedThreadPool(Math.max(atOnce, 1));
    try {
      return ended(works.stream().map(threads::submit).toList());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("the compaction was interrupted", e);
    } finally {
      threads.shutdownNow();
    }
  }

  /** The results of all works. A failed one does not stop the others; its error is thrown last. */
  private static <T> List<T> ended(List<Future<T>> running) throws InterruptedException {
    List<T> outcomes = new ArrayList<>();
    Throwable failure = null;
    for (Future<T> each : running) {
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

  private Outcome merge(KeyedSchema schema, Compaction compaction, Broadcast<Table> copy) {
    long start = System.nanoTime();
    CompactionWork work =
        new CompactionWork(
            schema,
            compaction.stretches(),
            compaction.tuple(),
            compaction.of(),
            compaction.operation(UUID.randomUUID().toString()),
            policy.targetFileBytes(),
            null);
    List<DataFile> files =
        List.of(
            JavaSparkContext.fromSparkContext(spark)
                .parallelize(List.of(work), 1)
                .map(new CompactionWork.Runner(copy))
                .collect()
                .get(0));
    boolean isCommitted = isCommitted(new CompactionChange(branch, compaction, files));
    return Outcome.of(compaction, files, isCommitted, start);
  }

  /** Commits, one at a time: others would only have to try again. */
  private synchronized boolean isCommitted(Change change) {
    try {
      return new Commits(table).make(change).isCommitted();
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
