package io.keylake.tables.planning;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.WriteSummary;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.IncrementalAppendScan;
import org.apache.iceberg.Scan;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.CloseableIterable;

/**
 * Lists data files, as manifests have them.
 *
 * @param filter for files that may have such rows
 * @param statistics the columns whose statistics come along; null for all
 */
public record FileListing(Table table, Expression filter, List<String> statistics) {

  /** All files of a snapshot. */
  public List<FileScanTask> at(long snapshotId) {
    return planned(table.newScan().useSnapshot(snapshotId));
  }

  /**
   * The files that the writes of a range have left, as they were written: compactions do not count,
   * and what an overwrite of the range has replaced, or a commit of it has taken out, is not there
   * any more.
   */
  List<FileScanTask> writtenIn(CommitRange range) {
    if (range.commits().isEmpty()) {
      return List.of();
    }
    Set<Long> undone = undone(range);
    List<FileScanTask> written = written(range, undone);
    List<FileScanTask> takenOut = takenOut(range, undone);
    if (!takenOut.isEmpty()) {
      Set<Place> places = Place.of(takenOut);
      checkWhole(takenOut, range);
      written.removeIf(task -> places.contains(Place.of(task)));
    }
    return written;
  }

  /** The files that writes of a range have touched, and at least those. */
  List<FileScanTask> touchedIn(CommitRange range) {
    if (range.commits().isEmpty()) {
      return List.of();
    }
    List<FileScanTask> touched = written(range, undone(range));
    touched.addAll(replacedIn(range));
    return touched;
  }

  private List<FileScanTask> written(CommitRange range, Set<Long> undone) {
    List<FileScanTask> written = new ArrayList<>(appended(range));
    written.removeIf(task -> undone.contains(task.file().dataSequenceNumber()));
    BucketCounts counts = BucketCounts.of(table);
    int coarsest = counts.all().first();
    for (Snapshot overwrite : overwrites(range, undone)) {
      Set<List<Serializable>> emptied = counts.grouped(replacedBy(overwrite), coarsest).keySet();
      written.removeIf(
          task ->
              task.file().dataSequenceNumber() < overwrite.sequenceNumber()
                  && emptied.contains(counts.partition(task.file(), coarsest)));
      written.addAll(addedBy(overwrite));
    }
    return written;
  }

  /** The files that the writes of a range have added, whatever became of them. */
  List<FileScanTask> everWrittenIn(CommitRange range) {
    if (range.commits().isEmpty()) {
      return List.of();
    }
    List<FileScanTask> written = new ArrayList<>(appended(range));
    overwrites(range, Set.of()).forEach(overwrite -> written.addAll(addedBy(overwrite)));
    return written;
  }

  /** A file at its place in the order of commits: one that comes back has another place. */
  public record Place(String location, long order) {
    public static Place of(FileScanTask task) {
      return new Place(task.file().location(), task.file().dataSequenceNumber());
    }

    public static Set<Place> of(List<FileScanTask> tasks) {
      return tasks.stream().map(Place::of).collect(Collectors.toSet());
    }
  }

  /** What drops and moves have taken out one by one, if that still holds. */
  List<FileScanTask> takenOutIn(CommitRange range) {
    return takenOut(range, undone(range));
  }

  private List<FileScanTask> takenOut(CommitRange range, Set<Long> undone) {
    return range.commits().stream()
        .filter(commit -> takesAway(commit) && WriteSummary.isFileChange(commit))
        .filter(commit -> !undone.contains(commit.sequenceNumber()))
        .flatMap(commit -> replacedBy(commit).stream())
        .toList();
  }

  /** Of a merged file it cannot be told which rows of which write went with it. */
  private void checkWhole(List<FileScanTask> takenOut, CommitRange range) {
    long before = range.after() == null ? 0 : table.snapshot(range.after()).sequenceNumber();
    Set<Place> written = Place.of(everWrittenIn(range));
    for (FileScanTask task : takenOut) {
      if (task.file().dataSequenceNumber() > before && !written.contains(Place.of(task))) {
        throw mergedBefore(task);
      }
    }
  }

  public static KeylakeException mergedBefore(FileScanTask takenOut) {
    return new KeylakeException(
        UNSUPPORTED,
        "file %s was merged of several writes before it was dropped or moved away, so that it cannot be told any more what these have left; take a range that ends before that, or begins after it"
            .formatted(takenOut.file().location()));
  }

  /** The numbers of the commits that later ones of the range have taken back. */
  private Set<Long> undone(CommitRange range) {
    Set<Long> undone = new HashSet<>();
    for (Snapshot commit : range.commits()) {
      for (long each : WriteSummary.undone(commit)) {
        Snapshot of = table.snapshot(each);
        if (of != null) {
          undone.add(of.sequenceNumber());
        }
      }
    }
    return undone;
  }

  private List<FileScanTask> appended(CommitRange range) {
    IncrementalAppendScan scan =
        table.newIncrementalAppendScan().toSnapshot(range.last().snapshotId());
    return planned(range.after() == null ? scan : scan.fromSnapshotExclusive(range.after()));
  }

  /** What an overwrite has added bears its number; all else in its snapshot is older. */
  private List<FileScanTask> addedBy(Snapshot overwrite) {
    return at(overwrite.snapshotId()).stream()
        .filter(task -> task.file().dataSequenceNumber() == overwrite.sequenceNumber())
        .toList();
  }

  /** The files that overwrites, and what took writes back, have taken away, as they were. */
  List<FileScanTask> replacedIn(CommitRange range) {
    return range.commits().stream()
        .filter(FileListing::takesAway)
        .flatMap(commit -> replacedBy(commit).stream())
        .toList();
  }

  /** The files in the place of which overwrites have put others, if they still hold. */
  List<FileScanTask> overwrittenIn(CommitRange range) {
    return overwrites(range, undone(range)).stream()
        .flatMap(overwrite -> replacedBy(overwrite).stream())
        .toList();
  }

  /** An overwrite empties whole partitions. */
  private List<FileScanTask> replacedBy(Snapshot overwrite) {
    Set<String> locations = new HashSet<>();
    SnapshotChanges.builderFor(table)
        .snapshot(overwrite)
        .build()
        .removedDataFiles()
        .forEach(file -> locations.add(file.location()));
    if (locations.isEmpty()) {
      return List.of(); // as of the first commit, which has no parent to look at
    }
    return at(overwrite.parentId()).stream()
        .filter(task -> locations.contains(task.file().location()))
        .toList();
  }

  private static List<Snapshot> overwrites(CommitRange range, Set<Long> undone) {
    return range.commits().stream()
        .filter(FileListing::isOverwrite)
        .filter(commit -> !undone.contains(commit.sequenceNumber()))
        .toList();
  }

  /** An overwrite may have found nothing to put its files in the place of. */
  private static boolean isOverwrite(Snapshot commit) {
    return (takesAway(commit) || commit.operation().equals(DataOperations.OVERWRITE))
        && !WriteSummary.isTidying(commit)
        && !WriteSummary.isUndo(commit)
        && !WriteSummary.isFileChange(commit);
  }

  /** Whether there are fewer rows for a commit. */
  private static boolean takesAway(Snapshot commit) {
    return commit.summary().containsKey(SnapshotSummary.DELETED_FILES_PROP)
        && !WriteSummary.isTidying(commit);
  }

  private <S extends Scan<S, FileScanTask, ?>> List<FileScanTask> planned(S scan) {
    S chosen = scan.filter(filter).ignoreResiduals();
    S wanted =
        statistics == null ? chosen.includeColumnStats() : chosen.includeColumnStats(statistics);
    try (CloseableIterable<FileScanTask> tasks = wanted.planFiles()) {
      List<FileScanTask> all = new ArrayList<>();
      tasks.forEach(all::add);
      return all;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
