package io.keylake.spark.maintenance;

import io.keylake.spark.extension.MaintenanceTask;
import io.keylake.spark.maintenance.CompactionRunner.Outcome;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of one look at a table that found something to do.
 *
 * @param branch null for main
 * @param state merged, applied, lost, failed or not cleaned
 * @param merges commits, where the task of a guest was applied
 * @param filesMerged files that were removed, where the task of a guest was applied
 * @param because the reasons of the merges, or what went wrong
 */
public record LogEntry(
    Instant at,
    String table,
    @Nullable String branch,
    String state,
    int merges,
    long filesMerged,
    long filesWritten,
    long bytesMerged,
    long bytesWritten,
    double seconds,
    String because) {

  /** The merges of one look; lost where commits of others came first. */
  static LogEntry of(
      String table, @Nullable String branch, List<Outcome> outcomes, double seconds) {
    List<Outcome> done = outcomes.stream().filter(Outcome::isCommitted).toList();
    return new LogEntry(
        Instant.now(),
        table,
        branch,
        done.isEmpty() ? "lost" : "merged",
        done.size(),
        done.stream().mapToLong(outcome -> outcome.read().files()).sum(),
        done.stream().mapToLong(outcome -> outcome.written().files()).sum(),
        done.stream().mapToLong(outcome -> outcome.read().bytes()).sum(),
        done.stream().mapToLong(outcome -> outcome.written().bytes()).sum(),
        seconds,
        outcomes.get(0).because());
  }

  /** The entry for the work of a guest's task on a plain table. */
  static LogEntry of(String table, MaintenanceTask.Done done, double seconds) {
    return new LogEntry(
        Instant.now(),
        table,
        null,
        "applied",
        done.commits(),
        done.filesRemoved(),
        done.filesWritten(),
        done.bytesRemoved(),
        done.bytesWritten(),
        seconds,
        done.because());
  }

  static LogEntry notMerged(
      String table, @Nullable String branch, String state, double seconds, String because) {
    return new LogEntry(Instant.now(), table, branch, state, 0, 0, 0, 0, 0, seconds, because);
  }
}
