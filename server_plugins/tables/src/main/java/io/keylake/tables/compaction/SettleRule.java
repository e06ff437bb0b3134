package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.File;
import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.history.Settling;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Runs that overlap are settled where that is cheaper than to merge them: it reads their keys, and
 * writes next to nothing. They have to hold whole rows, or some keys would need a merge all the
 * same; and enough of their rows must be new, because settling looks at the old ones, too.
 */
final class SettleRule implements CompactionRule {
  /** The largest share of the bytes that a merge reads and writes. */
  private static final double MOST_OF_A_MERGE = 0.25;

  @Override
  public Optional<Pick> pick(BucketLayout layout, CompactionPolicy policy) {
    List<Run> runs = overlapping(layout);
    if (policy.settleShare() == null || runs.size() < 2) {
      return Optional.empty();
    }
    long rows = runs.stream().mapToLong(Run::rows).sum();
    long young =
        runs.stream().filter(run -> run.settling() == Settling.NOT_YET).mapToLong(Run::rows).sum();
    long bytes = runs.stream().mapToLong(Run::bytes).sum();
    long keyBytes =
        runs.stream().flatMap(run -> run.files().stream()).mapToLong(File::keyBytes).sum();
    boolean isWanted =
        policy.settlesAll()
            || (runs.stream().allMatch(Run::hasWholeRows)
                && bytes >= policy.smallBytes()
                && keyBytes <= MOST_OF_A_MERGE * 2 * bytes);
    if (young == 0 || young < policy.settleShare() * rows || !isWanted) {
      return Optional.empty();
    }
    return Optional.of(
        new Pick(
            layout.stretch(0, layout.runs().size()),
            Reason.SETTLE,
            "%d%% of %d rows in %d overlapping runs are not settled; their keys are %d of %d bytes"
                .formatted(100 * young / rows, rows, runs.size(), keyBytes, bytes)));
  }

  /** The runs, each without the files that no other run overlaps. */
  private static List<Run> overlapping(BucketLayout layout) {
    Map<Integer, Long> depths =
        layout.runs().stream()
            .flatMap(run -> run.sections().stream())
            .collect(Collectors.groupingBy(section -> section, Collectors.counting()));
    return layout.runs().stream()
        .map(run -> run.of(file -> depths.getOrDefault(file.section(), 0L) > 1))
        .filter(run -> !run.files().isEmpty())
        .toList();
  }
}
