package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.compaction.BucketLayout.Stretch;
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
    long[] small = new long[size + 1]; // of the runs before a place, as are the bytes
    long[] bytes = new long[size + 1];
    for (int i = 0; i < size; i++) {
      Run run = layout.runs().get(i);
      bytes[i + 1] = bytes[i] + run.bytes();
      small[i + 1] =
          small[i] + run.files().stream().filter(f -> policy.isSmallFile(f.bytes())).count();
    }
    if (small[size] <= policy.maxFiles() || size < 2) {
      return Optional.empty();
    }
    long wanted = small[size] - policy.maxFiles() / 2;
    Stretch cheapest = layout.stretch(0, size);
    long fewest = Long.MAX_VALUE;
    for (int from = 0; from < size - 1; from++) {
      for (int to = from + 2; to <= size; to++) {
        long read = bytes[to] - bytes[from];
        long removed = small[to] - small[from] - 1 - read / policy.targetFileBytes();
        if (removed >= wanted && read < fewest) {
          fewest = read;
          cheapest = layout.stretch(from, to);
        }
      }
    }
    return Optional.of(
        new Pick(
            cheapest,
            Reason.FILE_COUNT,
            "%d files are below half the target size, over the limit of %d"
                .formatted(small[size], policy.maxFiles())));
  }

  @Override
  public boolean waits() {
    return false;
  }
}
