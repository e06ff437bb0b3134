package io.keylake.tables.planning.request;

import io.keylake.tables.buckets.BucketCounts;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The commits whose rows a read merges: those of a snapshot, with the experiments that are read
 * together with it, or those of a range.
 *
 * @param snapshotId the last of the commits; null for a table without a snapshot
 * @param after if not null, only what commits after this one have written, merged among itself
 * @param overlays experiments whose rows are merged with those of the snapshot; none for a range
 * @param hasLate whether late rows belong to them, too, which no range leaves out
 */
public record ReadScope(
    @Nullable Long snapshotId, @Nullable Long after, List<Overlay> overlays, boolean hasLate) {
  public ReadScope {
    overlays = List.copyOf(overlays);
    if (after != null && !overlays.isEmpty()) {
      throw new IllegalArgumentException("a range of commits is read without experiments");
    }
    if (after != null && !hasLate) {
      throw new IllegalArgumentException("a range of commits has its late rows");
    }
  }

  /** All rows of a snapshot. */
  public static ReadScope ofSnapshot(@Nullable Long snapshotId) {
    return new ReadScope(snapshotId, null, List.of(), true);
  }

  /**
   * The rows that a range of commits has written.
   *
   * @param after the commit before the range, or 0 for the time before the first commit
   */
  public static ReadScope ofRange(long after, @Nullable Long until) {
    return new ReadScope(until, after, List.of(), true);
  }

  /** The same snapshot, merged with experiments. */
  public ReadScope with(List<Overlay> experiments) {
    return new ReadScope(snapshotId, after, experiments, hasLate);
  }

  /** The same snapshot without the late rows that no merge has brought to the others. */
  public ReadScope onTime() {
    return new ReadScope(snapshotId, after, overlays, false);
  }

  /** The bucket counts of the files of these commits. */
  public SortedSet<Integer> buckets(Table table) {
    BucketCounts counts = BucketCounts.of(table);
    if (overlays.isEmpty()) {
      return counts.read(snapshotId, after);
    }
    List<Snapshot> read = new ArrayList<>();
    overlays.forEach(each -> read.add(table.snapshot(each.snapshotId())));
    if (snapshotId != null) {
      read.add(table.snapshot(snapshotId));
    }
    return counts.in(read);
  }
}
