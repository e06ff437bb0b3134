package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.Run;
import java.util.Optional;

/**
 * The only run is written again when its tombstones have nothing left to hold down, and the time
 * for which late data must not bring a row back is over.
 */
final class ExpiredTombstonesRule implements CompactionRule {
  @Override
  public Optional<Pick> pick(BucketLayout layout, CompactionPolicy policy) {
    Run oldest = layout.runs().get(0);
    Pick pick =
        new Pick(
            layout.stretch(0, 1),
            Reason.EXPIRED_TOMBSTONES,
            "tombstones of the only run are older than %d seconds"
                .formatted(policy.tombstoneSeconds()));
    return oldest.hasTombstones() && pick.dropsTombstones(policy)
        ? Optional.of(pick)
        : Optional.empty();
  }
}
