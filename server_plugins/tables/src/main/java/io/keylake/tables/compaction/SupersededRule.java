package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.compaction.BucketLayout.Stretch;
import java.util.Optional;

/**
 * A group of runs most of whose rows are superseded is merged whatever the sizes: it costs storage
 * and every read. Walking from old to new, a group grows for as long as its average share of
 * updated rows stays above the target and its bytes below the cap.
 */
final class SupersededRule implements CompactionRule {
  @Override
  public Optional<Pick> pick(BucketLayout layout, CompactionPolicy policy) {
    for (int from = 0; from < layout.runs().size() - 1; from++) {
      Stretch best = null;
      for (int to = from + 2; to <= layout.runs().size(); to++) {
        Stretch group = layout.stretch(from, to);
        if (group.bytes() > policy.maxBytes()) {
          break;
        }
        if (group.freedShare(policy) >= policy.supersededShare() && group.freedShare(policy) > 0) {
          best = group;
        } else if (best != null) {
          break;
        }
      }
      if (best != null) {
        return Optional.of(
            new Pick(
                best,
                Reason.SUPERSEDED,
                "about %d%% of %d rows in %d runs are superseded, the limit is %d%%"
                    .formatted(
                        percent(best.freedShare(policy)),
                        best.runs().stream().mapToLong(Run::rows).sum(),
                        best.size(),
                        percent(policy.supersededShare()))));
      }
    }
    return Optional.empty();
  }

  private static long percent(double share) {
    return Math.round(100 * share);
  }
}
