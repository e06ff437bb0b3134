package io.keylake.tables.repair;

import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.CommittedFiles;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.planning.FileListing.Place;
import io.keylake.tables.planning.PlannedSection;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.StructLikeMap;

/**
 * Takes the writes of a range of commits back, as if they had never been made, while those after
 * them keep their effect. Planned from metadata alone:
 *
 * <ol>
 *   <li>What should be there is known: the files that were there before the range, and those that
 *       were written after it, without those that were dropped or moved away since. They exist,
 *       because their snapshots do.
 *   <li>In a bucket whose files are still there as they were written, the others are taken out.
 *   <li>In a bucket that was merged meanwhile, what should be there is merged anew, and takes the
 *       place of all that is there.
 * </ol>
 *
 * @param plannedAt where the branch stands
 * @param undone the writes that are taken back
 * @param buckets that these have touched, and no later overwrite has emptied
 * @param of how many buckets there are where those are some
 */
public record Undo(long plannedAt, CommitRange undone, List<Bucket> buckets, int of) {

  /**
   * One bucket.
   *
   * @param tuple the partition as Iceberg writes it
   * @param removed files that are there and should not be
   * @param superseded what says which rows of the bucket are superseded: without the others, they
   *     may not be
   * @param merged what is merged anew; without sections where nothing has to be
   */
  public record Bucket(
      StructLike tuple, List<DataFile> removed, List<DeleteFile> superseded, BucketPlan merged) {
    boolean hasWork() {
      return !removed.isEmpty() || !merged.sections().isEmpty();
    }
  }

  public Undo {
    buckets = List.copyOf(buckets);
  }

  /** Whether no data has to be written. */
  public boolean isMetadataOnly() {
    return buckets.stream().allMatch(bucket -> bucket.merged().sections().isEmpty());
  }

  /** The writes that are taken back. */
  public List<CommitLog.Entry> writes() {
    return undone.writes().stream().map(CommitLog.Entry::of).toList();
  }

  /** How many rows these have written: no more keys than that are concerned. */
  public long rows() {
    return writes().stream().mapToLong(each -> each.rows() == null ? 0 : each.rows()).sum();
  }

  /** The value columns that these have written. */
  public List<String> columns() {
    return writes().stream().flatMap(each -> each.columns().stream()).distinct().sorted().toList();
  }

  /**
   * Plans the undoing of a range of a branch.
   *
   * @param branch null for main
   */
  public static Undo of(Table table, String branch, CommitRange undone) {
    if (undone.writes().isEmpty()) {
      throw new KeylakeException(
          NOT_FOUND,
          "none of the %d commits of the range has written anything; there is nothing to undo"
              .formatted(undone.commits().size()));
    }
    Long head = new CommitLog(table, branch).headId();
    CommitRange later = CommitRange.of(table, undone.last().snapshotId(), head);
    Set<Long> seen = new HashSet<>();
    later.commits().forEach(commit -> seen.add(commit.snapshotId()));
    for (Snapshot commit : later.commits()) {
      if (!seen.containsAll(WriteSummary.undone(commit))) {
        throw new KeylakeException(
            UNSUPPORTED,
            "commit %d has undone commits that lie before those to be undone; roll back, or undo commit %d first"
                .formatted(commit.snapshotId(), commit.snapshotId()));
      }
    }
    List<Snapshot> snapshots = new ArrayList<>(undone.commits());
    snapshots.addAll(later.commits());
    if (undone.after() != null) {
      snapshots.add(table.snapshot(undone.after()));
    }
    int of = BucketCounts.of(table).in(snapshots).first();
    return new Undo(
        head,
        undone,
        isAddedOnly(undone) && isAddedOnly(later)
            ? addedBy(table, undone)
            : new Planning(table, undone, later, head, of).buckets(),
        of);
  }

  private static boolean isAddedOnly(CommitRange range) {
    return range.commits().stream()
        .allMatch(commit -> commit.operation().equals(DataOperations.APPEND));
  }

  /** Where nothing has been taken away since, what was added is still there, and nothing else. */
  private static List<Bucket> addedBy(Table table, CommitRange undone) {
    StructLikeMap<List<DataFile>> added = StructLikeMap.create(table.spec().partitionType());
    for (Snapshot commit : undone.commits()) {
      for (DataFile file : CommittedFiles.of(table, commit)) {
        added.computeIfAbsent(file.partition(), bucket -> new ArrayList<>()).add(file);
      }
    }
    BucketPlan nothing = new BucketPlan(List.of(), List.of());
    return added.values().stream()
        .map(files -> new Bucket(files.get(0).partition(), files, List.of(), nothing))
        .toList();
  }

  /** The planning of one undo. */
  private static final class Planning {
    private final ReadPlanner now;
    private final Map<List<Serializable>, List<FileScanTask>> touched;
    private final Map<List<Serializable>, List<FileScanTask>> emptied;
    private final Map<List<Serializable>, List<FileScanTask>> before;
    private final Map<List<Serializable>, List<FileScanTask>> written;
    private final Map<List<Serializable>, List<FileScanTask>> there;
    private final Map<List<Serializable>, List<FileScanTask>> takenOut;
    private final Set<Place> known = new HashSet<>();

    Planning(Table table, CommitRange undone, CommitRange later, long head, int of) {
      KeyedSchema schema = KeyedSchema.of(table);
      this.now = planner(table, schema, head, of);
      this.touched = now.filesTouchedBy(undone);
      this.emptied = now.filesOverwrittenBy(later);
      this.before = planner(table, schema, undone.after(), of).files();
      this.written = now.filesWrittenBy(later);
      this.there = now.files();
      this.takenOut = now.filesTakenOutBy(later);
      if (!takenOut.isEmpty()) {
        before.values().forEach(files -> known.addAll(Place.of(files)));
        now.filesEverWrittenBy(undone).values().forEach(files -> known.addAll(Place.of(files)));
        now.filesEverWrittenBy(later).values().forEach(files -> known.addAll(Place.of(files)));
      }
    }

    private static ReadPlanner planner(
        Table table, KeyedSchema schema, Long snapshotId, int buckets) {
      return new ReadPlanner(
          table,
          schema,
          ReadPlanner.Wish.ofAllColumns(schema, snapshotId, Wanted.HISTORY),
          buckets);
    }

    List<Bucket> buckets() {
      List<Bucket> buckets = new ArrayList<>();
      for (List<Serializable> partition : touched.keySet()) {
        List<FileScanTask> is = there.getOrDefault(partition, List.of());
        if (!emptied.containsKey(partition)) {
          List<FileScanTask> wanted = new ArrayList<>(before.getOrDefault(partition, List.of()));
          wanted.addAll(written.getOrDefault(partition, List.of()));
          leaveOut(takenOut.getOrDefault(partition, List.of()), wanted);
          Bucket bucket = bucket(partition, is, wanted);
          if (bucket.hasWork()) {
            buckets.add(bucket);
          }
        }
      }
      return buckets;
    }

    private void leaveOut(List<FileScanTask> gone, List<FileScanTask> wanted) {
      for (FileScanTask task : gone) {
        if (!known.contains(Place.of(task))) {
          throw FileListing.mergedBefore(task);
        }
      }
      Set<Place> places = Place.of(gone);
      wanted.removeIf(task -> places.contains(Place.of(task)));
    }

    private Bucket bucket(
        List<Serializable> partition, List<FileScanTask> is, List<FileScanTask> wanted) {
      Set<Place> places = Place.of(wanted);
      List<FileScanTask> others =
          is.stream().filter(task -> !places.contains(Place.of(task))).toList();
      boolean isAsWritten = is.size() - others.size() == wanted.size();
      List<FileScanTask> removed = isAsWritten ? others : is;
      return new Bucket(
          touched.get(partition).get(0).file().partition(),
          removed.stream().map(FileScanTask::file).toList(),
          is.stream().flatMap(task -> task.deletes().stream()).toList(),
          new BucketPlan(
              partition,
              isAsWritten
                  ? List.of()
                  : now.sections(wanted).stream().map(PlannedSection::plan).toList()));
    }
  }
}
