package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.Run;
import java.util.Optional;

/**
 * Writes runs of which no two overlap again when their tombstones have nothing left to hold down,
 * and the time for which late data must not bring a row back is over.
 */
final class ExpiredTombstonesRule implements CompactionRule {
  @Override
  public Optional<Pick> pick(BucketLayout layout, CompactionPolicy policy) {
    Pick pick =
        new Pick(
            layout.stretch(0, layout.runs().size()),
            Reason.EXPIRED_TOMBSTONES,
            "no runs overlap, and their tombstones are older than %d seconds"
                .formatted(policy.tombstoneSeconds()));
    return layout.depth() == 1
            && layout.runs().stream().anyMatch(Run::hasTombstones)
            && pick.dropsTombstones(policy)
        ? Optional.of(pick)
        : Optional.empty();
  }

  @Override
  public boolean waits() {
    return false;
  }
}
