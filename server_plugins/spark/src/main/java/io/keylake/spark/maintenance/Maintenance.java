package io.keylake.spark.maintenance;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.spark.access.ServerWork;
import io.keylake.spark.extension.Guests;
import io.keylake.spark.extension.MaintenanceTask;
import io.keylake.spark.maintenance.CompactionRunner.Outcome;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.branches.MergedBranch;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.storage.Housekeeping;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.DoublePredicate;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compacts tables in the background, where a server is told to ({@value #ENABLED}).
 *
 * <ol>
 *   <li>A commit to a table makes it due, a moment later, so that a burst of commits is looked at
 *       once, and one that needed nothing is left alone for nine times as long as that look took.
 *       When a server first uses a catalog, all tables of it are due: nothing has to be remembered
 *       across restarts.
 *   <li>One thread takes the tables that are due, one after the other, and lets the table's policy
 *       decide. Merges keep at most a share of the cores busy ({@value #SHARE}), and at least one.
 *   <li>Once in a while ({@value #HOURS_BETWEEN_CLEANINGS}) a table that was looked at is cleaned,
 *       as its retention policy says, and its branch {@value MergedBranch#NAME}, if there is one,
 *       is made anew.
 *   <li>Plain tables with a property that asks for it ({@link MaintenanceTask#property}) are due
 *       every {@value #MINUTES_BETWEEN_LOOKS} again, as other engines commit to them without a word
 *       to this server.
 *   <li>What was done, or went wrong, is kept in a log that holds the latest entries.
 * </ol>
 */
public final class Maintenance {
  public static final String ENABLED = "spark.keylake.maintenance.enabled";
  static final String SHARE = "spark.keylake.maintenance.share-of-cores";
  static final String HOURS_BETWEEN_CLEANINGS = "spark.keylake.maintenance.hours-between-cleanings";
  static final String MINUTES_BETWEEN_LOOKS = "spark.keylake.maintenance.minutes-between-looks";

  private static final Logger LOG = LoggerFactory.getLogger(Maintenance.class);
  private static final Set<String> UNDONE = ConcurrentHashMap.newKeySet(); // that the log has
  private static final double DEFAULT_SHARE = 0.5;
  private static final long BURST_MILLIS = 500;
  private static final double SECONDS_AN_HOUR = 3600;
  private static final double MILLIS_A_MINUTE = 60_000;
  private static final double DEFAULT_MINUTES = 10;
  private static final int RESTS_PER_LOOK = 9;
  private static final int KEPT_ENTRIES = 1000;
  private static final int KEPT_TABLES = 10_000;

  private static @Nullable Maintenance running;

  private final SparkContext spark;
  private final int atOnce;
  private final Duration betweenCleanings;
  private final Map<Target, Due> due = new LinkedHashMap<>();
  private final Set<Target> later = new HashSet<>(); // whose newest runs are to become old
  private final RecentTimes<Target> restsUntil = new RecentTimes<>(KEPT_TABLES);
  private final Map<Target, Supplier<Table>> watched = new LinkedHashMap<>();
  private final Set<String> catalogs = new HashSet<>();
  private final Deque<LogEntry> log = new ArrayDeque<>();
  private final RecentTimes<String> cleanedAt = new RecentTimes<>(KEPT_TABLES);
  private final ScheduledExecutorService worker =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(ServerWork.own(task), "keylake-maintenance");
            thread.setDaemon(true);
            return thread;
          });
  private boolean isPaused;
  private boolean isWorking;
  private int listings;

  /** A branch of a table; null for main. */
  private record Target(String table, @Nullable String branch) {}

  private record Due(Target target, Supplier<Table> loading, Instant notBefore) {}

  private Maintenance(SparkContext spark) {
    this.spark = spark;
    double share =
        setting(spark, SHARE, DEFAULT_SHARE, each -> each > 0 && each <= 1, "above 0, at most 1");
    double hours = setting(spark, HOURS_BETWEEN_CLEANINGS, 1, each -> each >= 0, "0 or more");
    this.atOnce = Math.max((int) (share * spark.defaultParallelism()), 1);
    this.betweenCleanings = Duration.ofSeconds((long) (hours * SECONDS_AN_HOUR));
    double minutes =
        setting(spark, MINUTES_BETWEEN_LOOKS, DEFAULT_MINUTES, each -> each > 0, "above 0");
    long millis = Math.max((long) (minutes * MILLIS_A_MINUTE), 1);
    worker.scheduleWithFixedDelay(this::lookAtWatched, millis, millis, TimeUnit.MILLISECONDS);
  }

  private static double setting(
      SparkContext spark, String name, double otherwise, DoublePredicate fits, String limits) {
    String said = spark.conf().get(name, String.valueOf(otherwise));
    double number;
    try {
      number = Double.parseDouble(said);
    } catch (NumberFormatException e) {
      number = Double.NaN;
    }
    if (!fits.test(number)) {
      throw new KeylakeException(
          DEFINITION,
          "%s is '%s'; it must be a number, %s; start the server with another"
              .formatted(name, said, limits));
    }
    return number;
  }

  /** The maintenance of a server, or null where it is off. */
  public static synchronized @Nullable Maintenance of(SparkContext spark) {
    if (!spark.conf().getBoolean(ENABLED, false)) {
      return null;
    }
    if (running == null || running.spark != spark) {
      running = new Maintenance(spark);
    }
    return running;
  }

  /**
   * Makes all tables of a catalog due, in the background, unless this server has done so before:
   * each session has a catalog of its own.
   */
  public synchronized void lookAtAll(
      String catalog,
      Supplier<List<TableIdentifier>> tables,
      Function<TableIdentifier, Table> loading) {
    if (catalogs.add(catalog)) {
      listings++;
      worker.execute(
          () -> {
            try {
              tables.get().forEach(id -> look(catalog + "." + id, null, () -> loading.apply(id)));
            } catch (RuntimeException e) {
              LOG.warn("the tables of {} cannot be listed; commits make them due", catalog, e);
            } finally {
              listed();
            }
          });
    }
  }

  private synchronized void listed() {
    listings--;
  }

  /** Makes a plain table due, now and from time to time, as long as it has a policy. */
  public static void watch(String name, Table table, Supplier<Table> loading) {
    if (KeyedSchema.isKeyed(table)) {
      return;
    }
    Guests.loaded().undone(table.properties()).stream()
        .filter(sentence -> UNDONE.add(name + ": " + sentence))
        .forEach(sentence -> LOG.warn("nothing is done for table {}: {}", name, sentence));
    if (!tasks(table).isEmpty()) {
      Maintenance maintenance = of(SparkSession.active().sparkContext());
      if (maintenance != null && maintenance.isWatchedFromNow(new Target(name, null), loading)) {
        maintenance.look(name, null, loading);
      }
    }
  }

  /** The tasks of guests that a table asks for. */
  private static List<MaintenanceTask> tasks(Table table) {
    return Guests.loaded().tasks().entrySet().stream()
        .filter(each -> table.properties().containsKey(each.getKey()))
        .map(Map.Entry::getValue)
        .toList();
  }

  /** Watches a table from now on; returns false where it was watched before. */
  private synchronized boolean isWatchedFromNow(Target target, Supplier<Table> loading) {
    return watched.putIfAbsent(target, loading) == null;
  }

  private synchronized void lookAtWatched() {
    if (spark.isStopped()) {
      worker.shutdown();
      return;
    }
    watched.forEach((target, loading) -> look(target.table(), null, loading));
  }

  private synchronized void forget(Target target) {
    watched.remove(target);
  }

  /** Makes a table due. */
  public synchronized void look(String table, @Nullable String branch, Supplier<Table> loading) {
    Target target = new Target(table, branch);
    if (!due.containsKey(target)) {
      Instant soon = Instant.now().plusMillis(BURST_MILLIS);
      Instant rested = restsUntil.get(target);
      Instant notBefore = rested != null && rested.isAfter(soon) ? rested : soon;
      due.put(target, new Due(target, loading, notBefore));
      long delay = Duration.between(Instant.now(), notBefore).toMillis() + 1;
      worker.schedule(this::work, delay, TimeUnit.MILLISECONDS);
    }
  }

  private static boolean isWrittenWithin(Duration recent, Table table, @Nullable String branch) {
    Snapshot head = new CommitLog(table, branch).head();
    return head != null && head.timestampMillis() > Instant.now().minus(recent).toEpochMilli();
  }

  /** Makes a table due once the runs that were written until now are not the newest any more. */
  private synchronized void lookLater(Target target, Supplier<Table> loading, Duration recent) {
    if (later.size() < KEPT_TABLES && later.add(target)) {
      worker.schedule(
          () -> {
            synchronized (this) {
              later.remove(target);
            }
            look(target.table(), target.branch(), loading);
          },
          recent.toMillis(),
          TimeUnit.MILLISECONDS);
    }
  }

  /** Begins nothing new before {@link #resume}; what runs goes on to its end. */
  public synchronized void pause() {
    isPaused = true;
  }

  public synchronized void resume() {
    isPaused = false;
    worker.execute(this::work);
  }

  public synchronized boolean isPaused() {
    return isPaused;
  }

  public synchronized boolean isIdle() {
    return !isWorking && listings == 0 && (due.isEmpty() || isPaused);
  }

  /** The latest entries, newest first. */
  public synchronized List<LogEntry> log() {
    return List.copyOf(log);
  }

  private void work() {
    for (Due next = take(); next != null; next = take()) {
      try {
        compact(next.target(), next.loading());
      } finally {
        done();
      }
    }
  }

  private synchronized @Nullable Due take() {
    if (isPaused || spark.isStopped()) {
      return null;
    }
    Instant now = Instant.now();
    for (Due each : due.values()) {
      if (!each.notBefore().isAfter(now)) {
        isWorking = true;
        return due.remove(each.target());
      }
    }
    return null;
  }

  /** Looking at a large table costs, too: one that needed nothing is left alone for a while. */
  private synchronized void rest(Target target, long lookedNanos) {
    restsUntil.set(target, Instant.now().plusNanos(RESTS_PER_LOOK * lookedNanos));
  }

  private synchronized void done() {
    isWorking = false;
  }

  private void compact(Target target, Supplier<Table> loading) {
    long start = System.nanoTime();
    try {
      Table table = loading.get();
      if (!KeyedSchema.isKeyed(table)) {
        runTasks(target, loading, table, start);
        return;
      }
      spark.setJobDescription("keylake: compaction of " + target.table());
      CompactionPolicy policy = CompactionPolicy.of(table);
      List<Outcome> outcomes =
          new CompactionRunner(spark, table, target.branch(), policy).run(atOnce);
      if (isWrittenWithin(policy.recent(), table, target.branch())) {
        lookLater(target, loading, policy.recent());
      }
      if (outcomes.isEmpty()) {
        rest(target, System.nanoTime() - start);
      } else {
        add(
            LogEntry.of(
                target.table(), target.branch(), outcomes, (System.nanoTime() - start) / 1e9));
      }
      clean(target, table);
    } catch (KeylakeException e) {
      if (e.kind() == NOT_FOUND) { // a table that was dropped needs nobody to look after it
        forget(target);
      } else {
        failed(target, start, e);
      }
    } catch (NoSuchTableException e) {
      forget(target);
    } catch (RuntimeException e) {
      failed(target, start, e);
    }
  }

  /** Runs the tasks of guests for a plain table that asks for them. */
  private void runTasks(Target target, Supplier<Table> loading, Table table, long start) {
    table.refresh();
    List<MaintenanceTask> tasks = tasks(table);
    if (tasks.isEmpty()) {
      forget(target);
      return;
    }
    isWatchedFromNow(target, loading);
    boolean isDone = false;
    for (MaintenanceTask task : tasks) {
      long began = System.nanoTime();
      Optional<MaintenanceTask.Done> done = task.run(spark, target.table(), table, atOnce);
      done.ifPresent(
          each -> add(LogEntry.of(target.table(), each, (System.nanoTime() - began) / 1e9)));
      isDone |= done.isPresent();
    }
    if (!isDone) {
      rest(target, System.nanoTime() - start);
    }
  }

  /** Once in a while: the past is not in the way of anybody. */
  private void clean(Target target, Table table) {
    Instant now = Instant.now();
    Instant last = cleanedAt.get(target.table());
    if (last == null) {
      cleanedAt.set(target.table(), now);
    } else if (!last.plus(betweenCleanings).isAfter(now)) {
      cleanedAt.set(target.table(), now);
      if (MergedBranch.isStale(table)) {
        MergedBranchRefresh.run(spark, table, atOnce);
      }
      Housekeeping.Done done = Housekeeping.run(table, RetentionPolicy.of(table), now);
      if (done.orphansLeft() != null) {
        add(
            LogEntry.notMerged(
                target.table(), target.branch(), "not cleaned", 0, done.orphansLeft()));
      }
    }
  }

  private void failed(Target target, long start, RuntimeException e) {
    if (spark.isStopped()) {
      return;
    }
    LOG.warn("the compaction of {} failed; the next commit to it tries again", target, e);
    double seconds = (System.nanoTime() - start) / 1e9;
    String why = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    add(LogEntry.notMerged(target.table(), target.branch(), "failed", seconds, why));
  }

  private synchronized void add(LogEntry entry) {
    log.addFirst(entry);
    if (log.size() > KEPT_ENTRIES) {
      log.removeLast();
    }
  }
}
