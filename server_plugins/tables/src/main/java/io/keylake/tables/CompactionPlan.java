package io.keylake.tables;

import java.io.Serializable;
import java.util.List;
import java.util.Optional;

/**
 * What a policy makes of a snapshot: the picture of each bucket, and the merge that it wants there.
 *
 * @param snapshotId null where nothing was ever written
 */
public record CompactionPlan(Long snapshotId, List<Choice> buckets) {
  public CompactionPlan {
    buckets = List.copyOf(buckets);
  }

  /** One bucket, seen and decided. */
  public record Choice(
      List<Serializable> partition, BucketLayout layout, Optional<Compaction> compaction) {}

  /** The merges to be made, the smallest first: each frees a bucket for readers. */
  public List<Compaction> compactions() {
    return buckets.stream()
        .flatMap(choice -> choice.compaction().stream())
        .sorted((one, two) -> Long.compare(one.bytes(), two.bytes()))
        .toList();
  }
}
