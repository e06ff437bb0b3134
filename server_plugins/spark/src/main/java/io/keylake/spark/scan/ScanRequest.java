package io.keylake.spark.scan;

import io.keylake.tables.planning.ReadPlanner.Beside;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * What a query wants of a keyed table.
 *
 * @param snapshotId null for a table without a snapshot
 * @param after if not null, only what commits after this one have written is read
 * @param wanted the columns
 * @param filters what the planner and the readers may use of the query's filters
 * @param limit how many rows are enough, or {@link #ALL}
 * @param tasks what each task reads
 * @param buckets by how many the rows are wanted, a part of those that files lie in; null for as
 *     many as there are
 * @param besides experiments whose rows are merged with those of the snapshot
 */
record ScanRequest(
    @Nullable Long snapshotId,
    @Nullable Long after,
    StructType wanted,
    PushedFilters filters,
    int limit,
    ScanTasks tasks,
    @Nullable Integer buckets,
    List<Beside> besides) {
  static final int ALL = -1;

  ScanRequest and(PushedFilters more) {
    return new ScanRequest(
        snapshotId, after, wanted, filters.and(more), limit, tasks, buckets, besides);
  }

  /** Whether a bucket may become several tasks. */
  boolean isSpread() {
    return tasks != ScanTasks.BUCKETS;
  }

  boolean isOrdered() {
    return tasks != ScanTasks.PARTS;
  }

  boolean has(String column) {
    return Arrays.asList(wanted.fieldNames()).contains(column);
  }
}
