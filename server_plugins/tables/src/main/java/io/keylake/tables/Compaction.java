package io.keylake.tables;

import java.io.Serializable;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.StructLike;

/**
 * One merge of one bucket, planned: neighbouring runs become one.
 *
 * @param partition the bucket as it is named in plans
 * @param plannedAt the snapshot that was looked at
 * @param inputs the files that go
 * @param superseded what says which of their rows are superseded, and goes with them
 * @param stretches what is read, in key order; files that stay lie between them, so none of the new
 *     files reaches over from one into the next
 * @param age the data sequence number of the new files: that of the youngest run, so that they keep
 *     its place in the order of commits
 * @param dropsTombstones whether rows that are only a tombstone go, and what others know of one
 */
public record Compaction(
    List<Serializable> partition,
    long plannedAt,
    List<DataFile> inputs,
    List<DeleteFile> superseded,
    List<BucketPlan> stretches,
    long age,
    String reason,
    String because,
    boolean dropsTombstones) {
  public Compaction {
    inputs = List.copyOf(inputs);
    superseded = List.copyOf(superseded);
    stretches = List.copyOf(stretches);
  }

  /** The partition as Iceberg writes it. */
  public StructLike tuple() {
    return inputs.get(0).partition();
  }

  public long rows() {
    return inputs.stream().mapToLong(DataFile::recordCount).sum();
  }

  public long bytes() {
    return inputs.stream().mapToLong(DataFile::fileSizeInBytes).sum();
  }
}
