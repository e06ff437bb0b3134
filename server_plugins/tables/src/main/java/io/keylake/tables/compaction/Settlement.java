package io.keylake.tables.compaction;

import io.keylake.tables.planning.BucketPlan;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.iceberg.FileScanTask;

/**
 * The settlement of one bucket, planned: the sections in which runs overlap, some of them not
 * settled.
 *
 * @param partition the bucket as it is named in plans
 * @param of how many buckets there are where it is one
 * @param plan of the sections, for {@code Wanted.ROWS_AND_TOMBSTONES}
 * @param inputs their files, with what is recorded of them so far
 */
public record Settlement(
    List<Serializable> partition,
    int of,
    BucketPlan plan,
    List<FileScanTask> inputs,
    String because) {
  /** The word for it among the reasons of a compaction. */
  public static final String REASON = CompactionRule.Reason.SETTLE.word();

  public Settlement {
    inputs = List.copyOf(inputs);
  }

  public long rows() {
    return inputs.stream().mapToLong(task -> task.file().recordCount()).sum();
  }

  public long bytes() {
    return inputs.stream().mapToLong(task -> task.file().fileSizeInBytes()).sum();
  }

  Map<String, FileScanTask> byLocation() {
    return inputs.stream()
        .collect(Collectors.toMap(task -> task.file().location(), Function.identity()));
  }
}
