package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.Run;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Runs from when the table had fewer buckets are divided into those it has now: the oldest of them,
 * with the neighbours of the same kind, as far as they are not too much for one merge. Until then
 * nothing else is worth while: the whole of such a bucket is merged by every read in key order.
 */
final class RebucketRule implements CompactionRule {
  @Override
  public Optional<Pick> pick(BucketLayout layout, CompactionPolicy policy) {
    List<Run> runs = layout.runs();
    int from = IntStream.range(0, runs.size()).filter(i -> isOld(runs, i)).findFirst().orElse(-1);
    if (from < 0 || policy.mergesNothing()) {
      return Optional.empty();
    }
    int to = from + 1;
    long bytes = runs.get(from).bytes();
    while (isOld(runs, to) && bytes + runs.get(to).bytes() <= policy.maxBytes()) {
      bytes += runs.get(to).bytes();
      to++;
    }
    long old = runs.stream().filter(Run::isOfFewer).count();
    return Optional.of(
        new Pick(
            layout.stretch(from, to),
            Reason.REBUCKET,
            "%d of %d runs lie in a bucket from when the table had fewer"
                .formatted(old, runs.size())));
  }

  private static boolean isOld(List<Run> runs, int at) {
    return at < runs.size() && runs.get(at).isOfFewer();
  }

  @Override
  public boolean waits() {
    return false;
  }
}
