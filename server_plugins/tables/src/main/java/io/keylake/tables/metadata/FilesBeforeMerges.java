package io.keylake.tables.metadata;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.planning.FileListing;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.Table;

/**
 * The files of a bucket as writers left them: merged files give way to those that a compaction put
 * together, for as long as the snapshot before the compaction is kept. The merge of the ones is
 * that of the others, since a merged file has the place of its youngest in the order of commits.
 *
 * @param listing of the files that may have the wanted keys
 */
public record FilesBeforeMerges(Table table, FileListing listing) {
  /** The numbers of files and of lists of files that somebody who asks for one row waits for. */
  private static final int MOST_FILES = 200;

  private static final int MOST_COMPACTIONS = 50;

  /**
   * The files in the place of some of one bucket. Compactions are taken back newest first, until
   * none is known any more, or too many have been; one that would make too many files stays.
   */
  public List<FileScanTask> of(List<FileScanTask> files) {
    Map<Long, Snapshot> compactions = compactions();
    List<FileScanTask> found = files;
    for (int i = 0; i < MOST_COMPACTIONS; i++) {
      Optional<Snapshot> newest =
          found.stream()
              .map(task -> compactions.get(task.file().fileSequenceNumber()))
              .filter(each -> each != null)
              .max(Comparator.comparingLong(Snapshot::sequenceNumber));
      if (newest.isEmpty()) {
        return found;
      }
      compactions.remove(newest.get().sequenceNumber());
      List<FileScanTask> before = without(newest.get(), found);
      if (before.size() <= MOST_FILES) {
        found = before;
      }
    }
    return found;
  }

  /** Compactions by their places in the order of commits, those before which the table is known. */
  private Map<Long, Snapshot> compactions() {
    Map<Long, Snapshot> found = new HashMap<>();
    for (Snapshot each : table.snapshots()) {
      Long parent = each.parentId();
      if (parent != null
          && table.snapshot(parent) != null
          && CommitLog.Entry.of(each).isCompaction()) {
        found.put(each.sequenceNumber(), each);
      }
    }
    return found;
  }

  private List<FileScanTask> without(Snapshot compaction, List<FileScanTask> files) {
    Set<String> removed = new HashSet<>();
    for (DataFile file :
        SnapshotChanges.builderFor(table).snapshot(compaction).build().removedDataFiles()) {
      removed.add(file.location());
    }
    List<FileScanTask> before =
        new ArrayList<>(
            files.stream()
                .filter(task -> task.file().fileSequenceNumber() != compaction.sequenceNumber())
                .toList());
    before.forEach(task -> removed.remove(task.file().location())); // one that was put back since
    try {
      listing.at(compaction.parentId()).stream()
          .filter(task -> removed.contains(task.file().location()))
          .forEach(before::add);
    } catch (KeylakeException e) {
      return files; // a definition of that time, under which its files cannot be read
    }
    return before;
  }
}
