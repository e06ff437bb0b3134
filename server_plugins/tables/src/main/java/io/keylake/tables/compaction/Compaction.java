package io.keylake.tables.compaction;

import io.keylake.tables.planning.BucketPlan;
import java.io.Serializable;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.StructLike;

/**
 * One merge of one bucket, planned: neighbouring runs become one.
 *
 * @param partition the bucket as it is named in plans
 * @param of how many buckets there are where it is one
 * @param plannedAt the snapshot that was looked at
 * @param inputs the files that go
 * @param superseded what says which of their rows are superseded, and goes with them
 * @param stretches what is read, in key order; files that stay lie between them, so none of the new
 *     files reaches over from one into the next
 * @param age the data sequence number of the new files: that of the youngest run, so that they keep
 *     its place in the order of commits; of rows that were late, that of the bucket's newest file
 * @param dropsTombstones whether rows that are only a tombstone go, and what others know of one
 * @param mark a part of the new files' names that tells late rows from timely ones; empty where
 *     both are merged, or none is late
 */
public record Compaction(
    List<Serializable> partition,
    int of,
    long plannedAt,
    List<DataFile> inputs,
    List<DeleteFile> superseded,
    List<BucketPlan> stretches,
    long age,
    String reason,
    String because,
    boolean dropsTombstones,
    String mark) {
  /** A mark in the names of files that lack rows which others have superseded. */
  private static final String PART_MARK = "-compact-part-";

  public Compaction {
    inputs = List.copyOf(inputs);
    superseded = List.copyOf(superseded);
    stretches = List.copyOf(stretches);
    assert !inputs.isEmpty() : reason;
    assert inputs.stream().map(DataFile::location).distinct().count() == inputs.size() : inputs;
  }

  /** The partition as Iceberg has it for one of the inputs. */
  public StructLike tuple() {
    return inputs.get(0).partition();
  }

  /**
   * The common part of the new files' names. It tells of those that lack rows which files that stay
   * have superseded: without these, nobody knows any more what should be there.
   */
  public String operation(String id) {
    boolean isPart =
        inputs.stream().anyMatch(Compaction::isPart)
            || stretches.stream()
                .flatMap(stretch -> stretch.sections().stream())
                .flatMap(section -> section.runs().stream())
                .flatMap(List::stream)
                .anyMatch(file -> !file.superseded().isEmpty());
    return mark + (isPart ? PART_MARK.substring(1) : "compact-") + id;
  }

  /** A file lacks rows that others have superseded. */
  public static boolean isPart(DataFile file) {
    String name = file.location().substring(file.location().lastIndexOf('/') + 1);
    return name.contains(PART_MARK);
  }

  public long rows() {
    return inputs.stream().mapToLong(DataFile::recordCount).sum();
  }

  public long bytes() {
    return inputs.stream().mapToLong(DataFile::fileSizeInBytes).sum();
  }
}
