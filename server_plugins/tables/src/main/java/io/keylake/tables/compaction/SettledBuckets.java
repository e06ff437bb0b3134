package io.keylake.tables.compaction;

import io.keylake.tables.history.Settled;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;

/**
 * The results of the settlements of one plan, put together for one commit.
 *
 * @param plannedAt the snapshot that was looked at
 * @param state how far the table is settled with them
 * @param added by which the superseded rows of the files at {@code locations} are known
 * @param replaced what said so before
 * @param rows superseded ones, also those that were known before
 * @param isSafeForPlainReads whether every row that is left is the newest of its key
 */
public record SettledBuckets(
    long plannedAt,
    Settled state,
    List<DeleteFile> added,
    List<DeleteFile> replaced,
    Set<String> locations,
    long rows,
    boolean isSafeForPlainReads) {

  /**
   * The superseded rows that were found in one bucket.
   *
   * @param superseded by the location of the data file; without files in which nothing new is
   *     superseded
   * @param isUnique whether each visible key has one row left
   */
  public record SettledBucket(
      Settlement settlement, Map<String, DeleteFile> superseded, boolean isUnique) {
    public SettledBucket {
      superseded = Map.copyOf(superseded);
    }

    public long rows() {
      return superseded.values().stream().mapToLong(DeleteFile::recordCount).sum();
    }

    public long bytes() {
      Map<String, Long> sizes = new HashMap<>(); // a file may say it of many
      superseded.values().forEach(file -> sizes.put(file.location(), file.fileSizeInBytes()));
      return sizes.values().stream().mapToLong(size -> size).sum();
    }
  }

  /**
   * @param buckets at least one
   */
  public static SettledBuckets of(CompactionPlan plan, List<SettledBucket> buckets) {
    Snapshot snapshot =
        Objects.requireNonNull(plan.snapshot(), "what is settled are files of a snapshot");
    List<DeleteFile> added = new ArrayList<>();
    List<DeleteFile> replaced = new ArrayList<>();
    Set<String> locations = new HashSet<>();
    for (SettledBucket bucket : buckets) {
      Map<String, FileScanTask> inputs = bucket.settlement().byLocation();
      bucket
          .superseded()
          .forEach(
              (location, file) -> {
                added.add(file);
                locations.add(location);
                FileScanTask input = inputs.get(location);
                replaced.addAll(
                    Objects.requireNonNull(input, "only inputs are looked at").deletes());
              });
    }
    Set<String> except =
        buckets.stream()
            .filter(bucket -> !bucket.isUnique())
            .map(bucket -> Settled.name(bucket.settlement().partition()))
            .collect(Collectors.toSet());
    return new SettledBuckets(
        snapshot.snapshotId(),
        new Settled(snapshot.sequenceNumber(), except, buckets.get(0).settlement().of()),
        added,
        replaced,
        locations,
        buckets.stream().mapToLong(SettledBucket::rows).sum(),
        except.isEmpty() && plan.hasOnlyWrittenRows() && !plan.hasLateFiles());
  }
}
