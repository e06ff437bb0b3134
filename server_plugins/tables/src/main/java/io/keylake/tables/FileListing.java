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
    for (Snapshot overwrite : overwrites(range)) {
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

  /** The files that the overwrites of a range have replaced, as they were before. */
  List<FileScanTask> replacedIn(CommitRange range) {
    return overwrites(range).stream().flatMap(overwrite -> replacedBy(overwrite).stream()).toList();
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

  /** The writes that took files away. */
  private static List<Snapshot> overwrites(CommitRange range) {
    return range.commits().stream()
        .filter(commit -> commit.summary().containsKey(SnapshotSummary.DELETED_FILES_PROP))
        .filter(commit -> !WriteSummary.isTidying(commit))
        .toList();
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
