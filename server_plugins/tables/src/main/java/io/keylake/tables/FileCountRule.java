package io.keylake.tables;

import io.keylake.tables.BucketLayout.Stretch;
import java.util.Comparator;
import java.util.Optional;

/**
 * A bucket with too many files is merged, come what may: of the stretches whose merge halves the
 * limit, the one with the fewest bytes. Files near the target size do not count; they would come
 * out as they went in.
 */
final class FileCountRule implements CompactionRule {
  @Override
  public Optional<Pick> pick(BucketLayout layout, CompactionPolicy policy) {
    int size = layout.runs().size();
    long small = small(layout.stretch(0, size), policy);
    if (small <= policy.maxFiles() || size < 2) {
      return Optional.empty();
    }
    long wanted = small - policy.maxFiles() / 2;
    Stretch cheapest =
        CompactionRule.stretches(layout)
            .filter(stretch -> removed(stretch, policy) >= wanted)
            .min(Comparator.comparingLong(Stretch::bytes))
            .orElse(layout.stretch(0, size));
    return Optional.of(
        new Pick(
            cheapest,
            Reason.FILE_COUNT,
            "%d files are below half the target size, over the limit of %d"
                .formatted(small, policy.maxFiles())));
  }

  private static long small(Stretch stretch, CompactionPolicy policy) {
    return stretch.runs().stream()
        .flatMap(run -> run.files().stream())
        .filter(file -> policy.isSmallFile(file.bytes()))
        .count();
  }

  private static long removed(Stretch stretch, CompactionPolicy policy) {
    return small(stretch, policy) - 1 - stretch.bytes() / policy.targetFileBytes();
  }
}
