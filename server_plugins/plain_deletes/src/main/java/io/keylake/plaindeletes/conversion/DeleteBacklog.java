package io.keylake.plaindeletes.conversion;

import io.keylake.plaindeletes.index.EqualityDeletes;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The equality deletes of a table that can become positions; no data file is looked at.
 *
 * @param rows of the delete files
 * @param oldest when the oldest of them was committed; null where there is none, or its commit has
 *     expired
 */
public record DeleteBacklog(long files, long rows, long dataRows, @Nullable Instant oldest) {
  private static final DeleteBacklog NOTHING = new DeleteBacklog(0, 0, 0, null);

  /** The commit of the oldest delete file has expired, and when that was is not known any more. */
  boolean isOldestExpired() {
    return files > 0 && oldest == null;
  }

  /** The backlog of the current snapshot. */
  public static DeleteBacklog of(Table table) {
    Snapshot head = table.currentSnapshot();
    if (head == null || "0".equals(head.summary().get(SnapshotSummary.TOTAL_EQ_DELETES_PROP))) {
      return NOTHING;
    }
    List<DeleteFile> deletes =
        ConversionPlan.equalityDeletes(table, head).stream()
            .filter(file -> EqualityDeletes.isIndexed(file, table.schema()))
            .toList();
    return new DeleteBacklog(
        deletes.size(),
        deletes.stream().mapToLong(DeleteFile::recordCount).sum(),
        head.dataManifests(table.io()).stream().mapToLong(DeleteBacklog::rows).sum(),
        deletes.stream()
            .map(DeleteFile::dataSequenceNumber)
            .min(Comparator.naturalOrder())
            .map(number -> committed(table, number))
            .orElse(null));
  }

  private static long rows(ManifestFile manifest) {
    return Stream.of(manifest.addedRowsCount(), manifest.existingRowsCount())
        .mapToLong(count -> count == null ? 0 : count)
        .sum();
  }

  private static @Nullable Instant committed(Table table, long sequenceNumber) {
    return StreamSupport.stream(table.snapshots().spliterator(), false)
        .filter(each -> each.sequenceNumber() == sequenceNumber)
        .map(each -> Instant.ofEpochMilli(each.timestampMillis()))
        .findFirst()
        .orElse(null);
  }
}
