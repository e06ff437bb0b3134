package io.keylake.tables.repair;

import static io.keylake.tables.KeylakeException.Kind.NOTHING_TO_DO;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.CommittedFiles;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.FileEffect;
import io.keylake.tables.planning.FileListing.Place;
import io.keylake.tables.planning.PlannedSection;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.StructLikeMap;
import org.jspecify.annotations.Nullable;

/**
 * Takes the writes of a range of commits back, as if they had never been made, while those after
 * them keep their effect. Planned from metadata alone:
 *
 * <ol>
 *   <li>What should be there is known: the files of the newest commit before which nothing changes,
 *       and those that the commits since have written, taken away or replaced, without the undone
 *       ones ({@link Replay}). They exist, because their snapshots do.
 *   <li>In a bucket whose files are still there as they were written, the others are taken out.
 *   <li>In a bucket that was merged meanwhile, what should be there is merged anew, and takes the
 *       place of all that is there.
 * </ol>
 *
 * @param schema has the columns that are planned for: the table may get others meanwhile
 * @param plannedAt where the branch stands
 * @param undone the writes that are taken back
 * @param buckets that these have touched, and no later overwrite has emptied
 * @param of how many buckets there are where those are some
 */
public record Undo(
    KeyedSchema schema, long plannedAt, CommitRange undone, List<Bucket> buckets, int of) {

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

  /** No data has to be written. */
  public boolean isMetadataOnly() {
    return buckets.stream().allMatch(bucket -> bucket.merged().sections().isEmpty());
  }

  /** The writes that are taken back. */
  public List<CommitLog.Entry> writes() {
    return undone.writes().stream().map(CommitLog.Entry::of).toList();
  }

  /** The number of rows that these have written: no more keys than that are concerned. */
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
  public static Undo of(Table table, @Nullable String branch, CommitRange undone) {
    Snapshot last = undone.last();
    if (last == null || undone.writes().isEmpty()) {
      throw new KeylakeException(
          NOTHING_TO_DO,
          "none of the %d commits of the range has written anything; there is nothing to undo"
              .formatted(undone.commits().size()));
    }
    Long head = new CommitLog(table, branch).headId();
    if (head == null) {
      throw new KeylakeException(
          NOT_FOUND,
          "branch '%s' of %s has no commit yet, so commit %d is not one of it; name the branch whose commits are to be undone"
              .formatted(
                  branch == null ? SnapshotRef.MAIN_BRANCH : branch,
                  table.name(),
                  last.snapshotId()));
    }
    CommitRange later = CommitRange.of(table, last.snapshotId(), head);
    Replay replay = Replay.of(table, head, undone.ids());
    int of = BucketCounts.of(table).in(replay.commits().snapshots(table)).first();
    KeyedSchema schema = KeyedSchema.of(table);
    return new Undo(
        schema,
        head,
        undone,
        isAddedOnly(undone) && isAddedOnly(later)
            ? addedBy(table, undone)
            : new Planning(table, schema, replay, head, of).buckets(),
        of);
  }

  private static boolean isAddedOnly(CommitRange range) {
    return range.commits().stream()
        .allMatch(
            commit ->
                commit.operation().equals(DataOperations.APPEND) && !WriteSummary.isUndo(commit));
  }

  /**
   * The files that the range has added, all of which are there where nothing has been taken away
   * since.
   */
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
    private final Replay replay;
    private final ReadPlanner planner;
    private final List<FileEffect> effects;
    private final List<Set<List<Serializable>>> touching;
    private final List<FileScanTask> before;
    private final Set<Place> known;

    Planning(Table table, KeyedSchema schema, Replay replay, long head, int of) {
      Long after = replay.commits().after();
      this.replay = replay;
      this.planner =
          new ReadPlanner(table, schema, ReadSpec.ofAllColumns(schema, head, Wanted.HISTORY), of);
      this.effects = planner.listing().effects(replay.commits());
      this.before = after == null ? List.of() : planner.listing().at(after);
      this.touching = effects.stream().map(this::buckets).toList();
      this.known = Place.of(before);
      effects.forEach(effect -> known.addAll(Place.of(effect.added())));
    }

    private Set<List<Serializable>> buckets(FileEffect effect) {
      Set<List<Serializable>> buckets = new HashSet<>(planner.byBucket(effect.added()).keySet());
      buckets.addAll(planner.byBucket(effect.removed()).keySet());
      return buckets;
    }

    List<Bucket> buckets() {
      Map<List<Serializable>, List<FileScanTask>> there = planner.files();
      Map<List<Serializable>, List<FileScanTask>> wanted =
          planner.byBucket(FileEffect.replayed(before, effects, replay.undone()));
      Set<List<Serializable>> partitions = new LinkedHashSet<>(there.keySet());
      partitions.addAll(wanted.keySet());
      List<Bucket> buckets = new ArrayList<>();
      for (List<Serializable> partition : partitions) {
        List<FileScanTask> is = there.getOrDefault(partition, List.of());
        List<FileScanTask> willBe = wanted.getOrDefault(partition, List.of());
        DataFile any = (is.isEmpty() ? willBe : is).get(0).file();
        if (isTouched(partition, any)) {
          Bucket bucket = bucket(partition, any.partition(), is, willBe);
          if (bucket.hasWork()) {
            checkKnown(partition);
            buckets.add(bucket);
          }
        }
      }
      return buckets;
    }

    /**
     * A bucket may hold something else than it should: commits have touched it that are undone, or
     * count again, or are undos, and no later overwrite has emptied it. What all others did is
     * there as it should be.
     */
    private boolean isTouched(List<Serializable> partition, DataFile any) {
      boolean isTouched = false;
      for (int i = 0; i < effects.size(); i++) {
        FileEffect effect = effects.get(i);
        long commit = effect.commit().snapshotId();
        boolean empties = effect.emptied() != null && effect.emptied().test(any);
        boolean isAsItWas = !replay.undone().contains(commit) && !replay.changed().contains(commit);
        if (effect.isUndo() || !isAsItWas) {
          isTouched |= empties || touching.get(i).contains(partition);
        } else if (empties) {
          isTouched = false;
        }
      }
      return isTouched;
    }

    /**
     * Refuses a bucket of which a merged file was taken out: it cannot be told what is missing
     * without the undone.
     */
    private void checkKnown(List<Serializable> partition) {
      for (FileEffect effect : effects) {
        if (effect.takesOut() && !replay.undone().contains(effect.commit().snapshotId())) {
          for (FileScanTask task :
              planner.byBucket(effect.removed()).getOrDefault(partition, List.of())) {
            if (!known.contains(Place.of(task))) {
              throw effect.takesOutMerged(task);
            }
          }
        }
      }
    }

    private Bucket bucket(
        List<Serializable> partition,
        StructLike tuple,
        List<FileScanTask> is,
        List<FileScanTask> wanted) {
      Set<Place> places = Place.of(wanted);
      List<FileScanTask> others =
          is.stream().filter(task -> !places.contains(Place.of(task))).toList();
      boolean isAsWritten = is.size() - others.size() == wanted.size();
      List<FileScanTask> removed = isAsWritten ? others : is;
      return new Bucket(
          tuple,
          removed.stream().map(FileScanTask::file).toList(),
          is.stream().flatMap(task -> task.deletes().stream()).toList(),
          new BucketPlan(
              partition,
              isAsWritten
                  ? List.of()
                  : planner.sectionsOfAllRows(wanted).stream().map(PlannedSection::plan).toList()));
    }
  }
}
