package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.Run;
import java.util.Optional;

/**
 * A bucket with files from before an index was added is written again where all is merged anyhow.
 * Other policies wait until the files are merged for another reason: a table that is written all
 * day has the index in most of them soon.
 */
final class IndexRule implements CompactionRule {
  @Override
  public Optional<Pick> pick(BucketLayout layout, CompactionPolicy policy) {
    long lacking = layout.runs().stream().filter(Run::lacksIndex).count();
    return lacking == 0 || !policy.isFull()
        ? Optional.empty()
        : Optional.of(
            new Pick(
                layout.stretch(0, layout.runs().size()),
                Reason.INDEX,
                "%d of %d runs were written before the table had all of its indices"
                    .formatted(lacking, layout.runs().size())));
  }

  @Override
  public boolean waits() {
    return false;
  }
}
