package io.keylake.spark.write;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.write.request.WriteOptions;
import io.keylake.spark.write.tasks.KeyedDataWriter.Written;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.jspecify.annotations.Nullable;

/**
 * The batches of a streaming query. Each is committed once, by the query and its number. No client
 * waits for one, so that none is told.
 */
final class StreamedBatches implements StreamingWrite {
  private final KeyedWrite write;
  private final String query;
  private final WriteLabels labels;
  private final @Nullable Long delay;

  /**
   * @param delay of watermarks behind the newest event time, in microseconds; null where batches
   *     say no watermark
   */
  StreamedBatches(KeyedWrite write, String query, WriteLabels labels, @Nullable Long delay) {
    this.write = write;
    this.query = query;
    this.labels = labels;
    this.delay = delay;
  }

  /** The delay; event times are the versions of rows where the ordering column is a timestamp. */
  static @Nullable Long delay(@Nullable Long delay, KeyedSchema schema, String table) {
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
    return delay;
  }

  KeyedWrite write() {
    return write;
  }

  @Override
  public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo physical) {
    DataWriterFactory factory = write.writerFactory(operation());
    return (partition, task, batch) -> factory.createWriter(partition, task);
  }

  /** The writers of as many parts of a batch, for this process. */
  List<DataWriter<InternalRow>> writersHere(int parts) {
    return write.writersHere(operation(), parts);
  }

  /** A query that is restarted counts its tasks anew, and its files need other names. */
  private static String operation() {
    return UUID.randomUUID().toString();
  }

  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  public void commit(long batch, WriterCommitMessage[] messages) {
    WriteLabels once = labels.once("stream %s, batch %d".formatted(query, batch));
    write.commit(messages, complete(messages, once));
  }

  /** The labels of a batch with its watermark, where it has rows. */
  private WriteLabels complete(WriterCommitMessage[] messages, WriteLabels of) {
    long newest =
        Arrays.stream(messages)
            .map(Written.class::cast)
            .filter(written -> written.rows() > 0)
            .mapToLong(Written::maxVersion)
            .max()
            .orElse(Long.MIN_VALUE);
    return delay == null || newest == Long.MIN_VALUE ? of : of.until(newest - delay);
  }

  @Override
  public void abort(long batch, WriterCommitMessage[] messages) {
    write.abort(messages);
  }
}
