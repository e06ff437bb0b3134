package io.keylake.tables.metadata;

import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.FileListing;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/** The commits that wrote the rows of files, as far as the snapshots are still there. */
public final class FileOrigins {
  private final Table table;
  private final FileListing listing;
  private final Map<Long, Snapshot> byOrder = new HashMap<>();

  /**
   * The commits that the rows of a file come from.
   *
   * @param commitOrder the place of the file in the order of commits; of a merged file, that of the
   *     youngest commit in it
   * @param snapshotId of the commit that wrote the rows; null where it has expired, and for a
   *     merged file, whose rows several commits have written
   * @param isMerged whether the rows were merged with those of other files since they were written
   * @param filesMerged how many files were merged that might have had the key; null where that
   *     cannot be known any more, and for a file that was not merged
   */
  public record Origin(
      long commitOrder,
      @Nullable Long snapshotId,
      @Nullable Long committedAtMicros,
      @Nullable String stream,
      boolean isMerged,
      @Nullable Long filesMerged) {}

  /**
   * @param listing of the files that may have the key
   */
  public FileOrigins(Table table, FileListing listing) {
    this.table = table;
    this.listing = listing;
    table.snapshots().forEach(each -> byOrder.put(each.sequenceNumber(), each));
  }

  public Origin of(DataFile file) {
    long order = file.dataSequenceNumber();
    Snapshot writer = byOrder.get(order);
    if (!isAsWritten(file, writer)) {
      return new Origin(order, null, null, null, true, filesMerged(file));
    }
    return writer == null
        ? new Origin(order, null, null, null, false, null)
        : new Origin(
            order,
            writer.snapshotId(),
            writer.timestampMillis() * 1000,
            CommitLog.Entry.of(writer).stream(),
            false,
            null);
  }

  /**
   * A merge keeps the place of what it merges, and an undo merges what is left. A file that was
   * taken out and put back has a newer entry at its place of before.
   */
  private boolean isAsWritten(DataFile file, @Nullable Snapshot writer) {
    return file.fileSequenceNumber() == file.dataSequenceNumber()
        ? writer == null || !WriteSummary.isUndo(writer)
        : writer != null && adds(writer, file);
  }

  private boolean adds(Snapshot commit, DataFile file) {
    for (DataFile added :
        SnapshotChanges.builderFor(table).snapshot(commit).build().addedDataFiles()) {
      if (added.location().equals(file.location())) {
        return true;
      }
    }
    return false;
  }

  private @Nullable Long filesMerged(DataFile file) {
    Snapshot merge = byOrder.get(file.fileSequenceNumber());
    Long before = merge == null ? null : merge.parentId();
    if (merge == null || before == null || table.snapshot(before) == null) {
      return null;
    }
    Set<String> removed = new HashSet<>();
    SnapshotChanges.builderFor(table)
        .snapshot(merge)
        .build()
        .removedDataFiles()
        .forEach(each -> removed.add(each.location()));
    return listing.at(before).stream()
        .filter(task -> removed.contains(task.file().location()))
        .filter(task -> task.file().dataSequenceNumber() <= file.dataSequenceNumber())
        .count();
  }
}
