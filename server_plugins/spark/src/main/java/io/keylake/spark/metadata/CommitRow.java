package io.keylake.spark.metadata;

import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.PointInTime;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A commit as procedures and tables show it. */
public record CommitRow(
    long snapshotId,
    @Nullable Long parentId,
    Instant committedAt,
    @Nullable String verb,
    @Nullable Long rows,
    @Nullable Long minVersion,
    @Nullable Long maxVersion,
    List<String> columns,
    @Nullable String stream,
    @Nullable String writer,
    @Nullable String writeId,
    @Nullable String idempotencyKey,
    @Nullable Long files,
    @Nullable Instant watermark,
    boolean undone,
    @Nullable Long heldRows,
    @Nullable Long lateRows) {
  public static CommitRow of(CommitLog.Entry entry) {
    Long watermark = entry.watermarkMicros();
    return new CommitRow(
        entry.snapshotId(),
        entry.parentId(),
        PointInTime.ofMicros(entry.committedAtMicros()),
        entry.verb(),
        entry.rows(),
        entry.minVersion(),
        entry.maxVersion(),
        entry.columns(),
        entry.stream(),
        entry.writer(),
        entry.writeId(),
        entry.idempotencyKey(),
        entry.files(),
        watermark == null ? null : PointInTime.ofMicros(watermark),
        entry.isUndone(),
        entry.heldRows(),
        entry.lateRows());
  }
}
