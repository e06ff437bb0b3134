package io.keylake.tables.history;

import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * The labels that a writer gives to its commit.
 *
 * @param stream the label of who feeds; null if unknown
 * @param writer the label of who ran it; null if unknown
 * @param writeId by which a client finds the commit again; null if it does not wish to
 * @param idempotencyKey at most one commit of a branch has it; null for none
 * @param offsets of the rows, each of which a branch takes once
 * @param watermark event time in microseconds up to which the stream is complete; null if it does
 *     not say
 */
public record WriteLabels(
    @Nullable String stream,
    @Nullable String writer,
    @Nullable String writeId,
    @Nullable String idempotencyKey,
    OffsetRanges offsets,
    @Nullable Long watermark)
    implements Serializable {
  public static final WriteLabels NONE =
      new WriteLabels(null, null, null, null, OffsetRanges.NONE, null);

  /** Nothing says that the write may have been made before. */
  public boolean isPlain() {
    return idempotencyKey == null && offsets.isNone();
  }

  /** The same, run by somebody if nobody is named. */
  public WriteLabels by(@Nullable String user) {
    return writer != null
        ? this
        : new WriteLabels(stream, user, writeId, idempotencyKey, offsets, watermark);
  }

  /** The same, run by a principal whom the server knows, whatever the writer has said. */
  public WriteLabels certified(@Nullable String principal) {
    return principal == null
        ? this
        : new WriteLabels(stream, principal, writeId, idempotencyKey, offsets, watermark);
  }

  /** The same with an idempotency key, unless there is one. */
  public WriteLabels once(@Nullable String key) {
    return idempotencyKey != null
        ? this
        : new WriteLabels(stream, writer, writeId, key, offsets, watermark);
  }

  /** The same, complete up to an event time in microseconds. */
  public WriteLabels until(long time) {
    return new WriteLabels(stream, writer, writeId, idempotencyKey, offsets, time);
  }

  /** The same with offsets, unless there are some. */
  public WriteLabels of(OffsetRanges ranges) {
    return offsets.isNone()
        ? new WriteLabels(stream, writer, writeId, idempotencyKey, ranges, watermark)
        : this;
  }
}
