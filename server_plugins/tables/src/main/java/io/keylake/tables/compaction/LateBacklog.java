package io.keylake.tables.compaction;

import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.compaction.CompactionRule.Pick;
import io.keylake.tables.compaction.CompactionRule.Reason;
import io.keylake.tables.lateness.FileMark;
import io.keylake.tables.lateness.FileOrder;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.LongFunction;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;

/**
 * The late rows of a bucket beside the others, and when they are to be late no more: they wait
 * until they are many or old.
 *
 * @param layout of all runs
 * @param late bytes of late files
 * @param timely bytes of the others
 * @param since the commit of the oldest late file
 * @param isApart whether late files and timely ones can be merged without the others
 */
record LateBacklog(BucketLayout layout, long late, long timely, Instant since, boolean isApart) {
  /**
   * @param commitTime of the commit with a number
   */
  static LateBacklog of(
      BucketLayout layout, List<FileScanTask> files, LongFunction<Instant> commitTime) {
    long late = 0;
    long timely = 0;
    Instant since = layout.now();
    for (FileScanTask task : files) {
      DataFile file = task.file();
      if (FileMark.isLate(file)) {
        Instant committed = commitTime.apply(FileMark.of(file).oldest(file));
        late += file.fileSizeInBytes();
        since = committed.isBefore(since) ? committed : since;
      } else {
        timely += file.fileSizeInBytes();
      }
    }
    return new LateBacklog(
        layout,
        late,
        timely,
        since,
        FileOrder.isApart(files.stream().map(FileScanTask::file).toList()));
  }

  Optional<Pick> pick(CompactionPolicy policy) {
    if (layout.runs().stream().anyMatch(Run::isOfFewer) && !policy.mergesNothing()) {
      return Optional.of(
          all(Reason.REBUCKET, "it has late rows, which are divided with all others"));
    }
    if (policy.isFull()) {
      boolean lacksIndex = layout.runs().stream().anyMatch(Run::lacksIndex);
      return Optional.of(
          all(lacksIndex ? Reason.INDEX : Reason.LATE, "all late rows are merged with the others"));
    }
    if (policy.leavesFiles()) {
      return Optional.empty();
    }
    if (late >= policy.lateShare() * timely) {
      return Optional.of(
          all(
              Reason.LATE,
              "late files have %d bytes, the others %d; the limit is %d%%"
                  .formatted(late, timely, Math.round(100 * policy.lateShare()))));
    }
    Duration age = Duration.between(since, layout.now());
    return age.compareTo(policy.latest()) < 0
        ? Optional.empty()
        : Optional.of(
            all(
                Reason.LATE,
                "the oldest late rows are of %s, %d seconds ago; the limit is %d"
                    .formatted(since, age.toSeconds(), policy.lateSeconds())));
  }

  /** All runs, where the order of late and timely ones does not permit to merge them apart. */
  Pick between() {
    return all(Reason.LATE, "timely files that came after late ones may have older rows");
  }

  private Pick all(Reason reason, String because) {
    return new Pick(layout.all(), reason, because);
  }
}
