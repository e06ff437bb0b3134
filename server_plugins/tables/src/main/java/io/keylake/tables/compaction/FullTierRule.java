package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.compaction.BucketLayout.Stretch;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A full tier is merged, lowest tier first: neighbouring runs of it, with the smaller ones between
 * them and after them. A tier whose merge would free almost nothing is left alone, and so is one
 * that the policy has settled: no read merges it.
 */
final class FullTierRule implements CompactionRule {
  @Override
  public Optional<Pick> pick(BucketLayout layout, CompactionPolicy policy) {
    List<Integer> tiers = layout.runs().stream().map(run -> policy.tier(run.bytes())).toList();
    int highest = tiers.stream().max(Comparator.naturalOrder()).orElse(0);
    return IntStream.rangeClosed(0, highest)
        .boxed()
        .flatMap(tier -> full(layout, policy, tiers, tier).stream())
        .findFirst();
  }

  private static Optional<Pick> full(
      BucketLayout layout, CompactionPolicy policy, List<Integer> tiers, int tier) {
    int to = layout.runs().size();
    while (to > 0) {
      int from = to;
      while (from > 0 && tiers.get(from - 1) <= tier) {
        from--;
      }
      long peers = tiers.subList(from, to).stream().filter(each -> each == tier).count();
      if (peers >= policy.tierRuns()) {
        Stretch stretch = within(policy.maxBytes(), layout, from, to);
        if (stretch.size() > 1
            && !stretch.isSettled(policy)
            && stretch.freedShare(policy) >= policy.leastFreedShare()
            && stretch.freedShare(policy) > 0) {
          return Optional.of(
              new Pick(
                  stretch,
                  Reason.FULL_TIER,
                  "tier %d has %d neighbouring runs, the limit is %d"
                      .formatted(tier, peers, policy.tierRuns())));
        }
      }
      to = Math.min(from, to - 1);
    }
    return Optional.empty();
  }

  /** The stretch without its oldest runs, as far as they are too much for one merge. */
  private static Stretch within(long maxBytes, BucketLayout layout, int from, int to) {
    long bytes = 0;
    int first = to;
    while (first > from) {
      Run next = layout.runs().get(first - 1);
      bytes += next.bytes();
      if (bytes > maxBytes) {
        break;
      }
      first--;
    }
    return layout.stretch(first, to);
  }
}
