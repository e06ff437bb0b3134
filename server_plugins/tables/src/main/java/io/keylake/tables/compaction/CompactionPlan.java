package io.keylake.tables.compaction;

import io.keylake.tables.lateness.FileMark;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.List;
import java.util.Optional;
import org.apache.iceberg.Snapshot;
import org.jspecify.annotations.Nullable;

/**
 * The plan that a policy makes of a snapshot: the picture of each bucket, and the merge that it
 * wants there.
 *
 * @param schema has the columns that are planned for, and written: the table may get others
 *     meanwhile
 * @param snapshot as it was when it was planned; null where nothing was ever written
 * @param settlements of all buckets that are not settled, if the policy wants one of them to be
 */
public record CompactionPlan(
    KeyedSchema schema,
    @Nullable Snapshot snapshot,
    List<Choice> buckets,
    List<Settlement> settlements) {
  public CompactionPlan {
    buckets = List.copyOf(buckets);
    settlements = List.copyOf(settlements);
  }

  /**
   * One bucket, seen and decided.
   *
   * @param settling why it is to be settled, if it is
   */
  public record Choice(
      List<Serializable> partition,
      BucketLayout layout,
      Optional<Compaction> compaction,
      Optional<String> settling) {
    /** The bucket stays as it is. */
    boolean isEmpty() {
      return compaction.isEmpty() && settling.isEmpty();
    }
  }

  /** Some files have late rows, which are not settled with the others. */
  boolean hasLateFiles() {
    return buckets.stream()
        .flatMap(choice -> choice.layout().runs().stream())
        .flatMap(run -> run.files().stream())
        .anyMatch(file -> FileMark.isLate(file.location()));
  }

  /** Every stored row is one that was written, and none is a tombstone. */
  boolean hasOnlyWrittenRows() {
    return buckets.stream()
        .flatMap(choice -> choice.layout().runs().stream())
        .noneMatch(BucketLayout.Run::hasTombstones);
  }

  /** The merges to be made, the smallest first: each frees a bucket for readers. */
  public List<Compaction> compactions() {
    return buckets.stream()
        .flatMap(choice -> choice.compaction().stream())
        .sorted((one, two) -> Long.compare(one.bytes(), two.bytes()))
        .toList();
  }
}
