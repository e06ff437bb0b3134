package io.keylake.tables;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.IncrementalAppendScan;
import org.apache.iceberg.Scan;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.StructLikeSet;

/**
 * Lists data files, as manifests have them.
 *
 * @param filter for files that may have such rows
 * @param statistics the columns whose statistics come along; null for all
 */
record FileListing(Table table, Expression filter, List<String> statistics) {

  /** All files of a snapshot. */
  List<FileScanTask> at(long snapshotId) {
    return planned(table.newScan().useSnapshot(snapshotId));
  }

  /**
   * The files that the writes of a range have left, as they were written: compactions do not count,
   * and what an overwrite of the range has replaced is not there any more.
   */
  List<FileScanTask> writtenIn(CommitRange range) {
    if (range.commits().isEmpty()) {
      return List.of();
    }
    List<FileScanTask> written = new ArrayList<>(appended(range));
    Set<Long> undone = undone(range);
    written.removeIf(task -> undone.contains(task.file().dataSequenceNumber()));
    for (Snapshot overwrite : overwrites(range, undone)) {
      StructLikeSet emptied = StructLikeSet.create(table.spec().partitionType());
      replacedBy(overwrite).forEach(task -> emptied.add(task.file().partition()));
      written.removeIf(
          task ->
              task.file().dataSequenceNumber() < overwrite.sequenceNumber()
                  && emptied.contains(task.file().partition()));
      written.addAll(addedBy(overwrite));
    }
    return written;
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
    return at(overwrite.parentId()).stream()
        .filter(task -> locations.contains(task.file().location()))
        .toList();
  }

  private static List<Snapshot> overwrites(CommitRange range, Set<Long> undone) {
    return range.commits().stream()
        .filter(FileListing::takesAway)
        .filter(commit -> !WriteSummary.isUndo(commit))
        .filter(commit -> !undone.contains(commit.sequenceNumber()))
        .toList();
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
