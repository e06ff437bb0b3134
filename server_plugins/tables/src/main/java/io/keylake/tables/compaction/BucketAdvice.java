package io.keylake.tables.compaction;

import io.keylake.tables.Machine;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The number of buckets that a table should have, from metadata alone:
 *
 * <ol>
 *   <li>A merged bucket should fit into one file of the size that compaction aims at: a smaller
 *       bucket makes more and smaller files, a larger one longer tasks.
 *   <li>What counts is the largest partition, as it would be merged, and that it grows once more by
 *       what it grew over the commits that are kept.
 *   <li>The present count is doubled until that holds. Fewer buckets are never recommended: they
 *       would take writing everything again.
 * </ol>
 *
 * @param buckets how many there are
 */
public record BucketAdvice(int buckets, int recommended, String reason) {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB"};

  /**
   * @param branch null for main
   */
  public static BucketAdvice of(Table table, @Nullable String branch) {
    TableSpec spec = KeyedSchema.of(table).spec();
    int buckets = spec.buckets();
    Long head = new CommitLog(table, branch).headId();
    if (head == null) {
      return new BucketAdvice(buckets, buckets, "Nothing was ever written to the table.");
    }
    long oldest = head;
    for (Snapshot each : SnapshotUtil.ancestorsOf(head, table::snapshot)) {
      oldest = each.snapshotId();
    }
    Map<List<Serializable>, Double> before = mergedBytes(table, oldest);
    Map<List<Serializable>, Double> now = mergedBytes(table, head);
    return now.entrySet().stream()
        .map(each -> of(table, spec, before.getOrDefault(each.getKey(), 0.0), each.getValue()))
        .max((one, other) -> Double.compare(one.expected(), other.expected()))
        .map(Sized::advice)
        .orElseGet(() -> new BucketAdvice(buckets, buckets, "The table has no rows."));
  }

  private record Sized(double expected, BucketAdvice advice) {}

  private static Sized of(Table table, TableSpec spec, double before, double now) {
    int buckets = spec.buckets();
    double growth = Math.max(now - before, 0);
    double expected = now + growth;
    double target = CompactionPolicy.of(table).targetFileBytes();
    long recommended = buckets;
    while (expected / recommended > target && 2 * recommended <= TableSpec.MOST_BUCKETS) {
      recommended *= 2;
    }
    String size =
        "%s has %s when it is merged, %s of it since the oldest commit that is kept; when that comes once more, each of its %d buckets has %s"
            .formatted(
                spec.partitionBy().isEmpty() ? "The table" : "The largest partition",
                shown(now),
                shown(growth),
                buckets,
                shown(expected / buckets));
    String reason =
        recommended == buckets
            ? "%s, which fits into one merged file of %s.".formatted(size, shown(target))
            : "%s, more than one merged file of %s; each of %d buckets has %s."
                .formatted(size, shown(target), recommended, shown(expected / recommended));
    return new Sized(expected, new BucketAdvice(buckets, (int) recommended, reason));
  }

  /** The bytes of merged partitions, by the values of the partitions; without any, of the table. */
  private static Map<List<Serializable>, Double> mergedBytes(Table table, long snapshotId) {
    CompactionPolicy policy = CompactionPolicy.of(table);
    Map<List<Serializable>, Double> bytes = new HashMap<>();
    for (CompactionPlan.Choice bucket :
        new CompactionPlanner(table, policy, Machine.here().now(), snapshotId).plan().buckets()) {
      BucketLayout layout = bucket.layout();
      double kept = 1 - layout.stretch(0, layout.runs().size()).freedShare(policy);
      List<Serializable> values = bucket.partition();
      bytes.merge(values.subList(0, values.size() - 1), kept * layout.bytes(), Double::sum);
    }
    return bytes;
  }

  private static String shown(double bytes) {
    int unit = 0;
    double size = bytes;
    for (; size >= 1024 && unit < UNITS.length - 1; unit++) {
      size /= 1024;
    }
    return String.format(Locale.ROOT, "%.1f %s", size, UNITS[unit]);
  }
}
