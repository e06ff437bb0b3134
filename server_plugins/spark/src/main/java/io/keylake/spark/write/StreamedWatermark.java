package io.keylake.spark.write;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.write.KeyedDataWriter.Written;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Arrays;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.jspecify.annotations.Nullable;

/**
 * Up to which event time a stream is complete after a batch: its newest event time, less what later
 * rows may be late by.
 *
 * @param delay in microseconds; null where batches say no watermark
 */
record StreamedWatermark(@Nullable Long delay) {
  /** Event times are the versions of rows where the ordering column is a timestamp. */
  static StreamedWatermark of(@Nullable Long delay, KeyedSchema schema, String table) {
    String ordering = schema.spec().ordering();
    if (delay != null
        && (ordering == null || schema.table().findType(ordering).typeId() != TypeID.TIMESTAMP)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "option %s takes event times from the ordering column, and %s has %s; make a table whose ordering column is a timestamp"
              .formatted(
                  WriteOptions.WATERMARK_DELAY,
                  table,
                  ordering == null ? "none" : "'%s', which is no timestamp".formatted(ordering)));
    }
    return new StreamedWatermark(delay);
  }

  /** The labels of a batch with its watermark, where it has rows. */
  WriteLabels after(WriterCommitMessage[] messages, WriteLabels labels) {
    long newest =
        Arrays.stream(messages)
            .map(Written.class::cast)
            .filter(written -> written.rows() > 0)
            .mapToLong(Written::maxVersion)
            .max()
            .orElse(Long.MIN_VALUE);
    return delay == null || newest == Long.MIN_VALUE ? labels : labels.until(newest - delay);
  }
}
