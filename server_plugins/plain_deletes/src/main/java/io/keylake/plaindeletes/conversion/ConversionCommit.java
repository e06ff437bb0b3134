package io.keylake.plaindeletes.conversion;

import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.outcomes.CertainOperations;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * Puts positions in the place of equality deletes, in one commit, beside writers that go on:
 *
 * <ul>
 *   <li>Data files that got positions must still be there, with no new deletion vector, and so must
 *       those of which no row is left, which are removed.
 *   <li>Delete files that are removed must still be there, and no data file may have come since the
 *       plan that they apply to: new rows have higher sequence numbers, but a compaction may keep
 *       the number of the rows that it has read.
 * </ul>
 *
 * <p>New equality deletes are no hindrance: they apply by their own sequence numbers.
 *
 * @param plannedAt the snapshot that was looked at
 * @param freed equality deletes that have become positions of all data files they apply to
 */
record ConversionCommit(
    Table table, Snapshot plannedAt, List<Converted> converted, List<DeleteFile> freed) {
  private static final int MOST_ATTEMPTS = 30;

  /**
   * Makes the commit; returns false where it was not made: the files that were written for it are
   * deleted, plan again.
   */
  boolean make() {
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      if (!isBelow()) {
        break; // the table was rolled back
      }
      try {
        delta().commit();
        return true;
      } catch (ValidationException e) {
        break;
      } catch (IllegalArgumentException e) { // Iceberg's, of a rollback in that very moment
        if (isBelow()) {
          throw e;
        }
        break;
      } catch (CommitFailedException e) {
        // somebody else was quicker
      }
    }
    discard(); // after any other failure the files may be part of the table
    return false;
  }

  private boolean isBelow() {
    table.refresh();
    return SnapshotUtil.isAncestorOf(table, plannedAt.snapshotId());
  }

  private RowDelta delta() {
    RowDelta delta =
        CertainOperations.of(table)
            .newRowDelta()
            .validateFromSnapshot(plannedAt.snapshotId())
            .validateDeletedFiles();
    converted.forEach(
        each -> {
          each.added().forEach(delta::addDeletes);
          each.replaced().forEach(delta::removeDeletes);
          delta.validateDataFilesExist(each.locations());
          each.emptied().forEach(delta::removeRows);
        });
    freed.forEach(delta::removeDeletes);
    delta.set(WriteSummary.APPLIES_DELETES, "true");
    delta.validateWith(this::isUpToDate);
    return delta;
  }

  /**
   * The snapshot is still below, freed deletes apply to nothing that came after it, and nobody has
   * removed the data files that are to be removed.
   */
  private boolean isUpToDate(Iterable<Snapshot> newestFirst) {
    Set<String> removed = new HashSet<>();
    converted.forEach(each -> each.emptied().forEach(file -> removed.add(file.location())));
    long newest = freed.stream().mapToLong(DeleteFile::dataSequenceNumber).max().orElse(-1);
    for (Snapshot each : newestFirst) {
      if (each.snapshotId() == plannedAt.snapshotId()) {
        return true;
      }
      SnapshotChanges changes = SnapshotChanges.builderFor(table).snapshot(each).build();
      if (newest >= 0) {
        for (DataFile file : changes.addedDataFiles()) {
          if (file.dataSequenceNumber() < newest) {
            return false;
          }
        }
      }
      if (!removed.isEmpty()) {
        for (DataFile file : changes.removedDataFiles()) {
          if (removed.contains(file.location())) {
            return false;
          }
        }
      }
    }
    return false;
  }

  private void discard() {
    Set<String> written = new HashSet<>(); // a file may have the vectors of many data files
    converted.forEach(each -> each.added().forEach(file -> written.add(file.location())));
    written.forEach(table.io()::deleteFile);
  }
}
