package io.keylake.merge;

import java.io.Closeable;
import java.io.IOException;

/**
 * Walks one sorted run, batch by batch, and knows nothing of other runs.
 *
 * <p>A batch shows its keys as 8-byte prefixes whose signed order is the order of the keys. Where
 * the prefix is the whole key (one integer-like column) a comparison ends there; otherwise {@link
 * #compareTied} looks at the rest. Keys of a run are strictly increasing across all of its batches.
 *
 * <p>What a batch shows (prefixes, stamps, and the values behind them) is valid until the next
 * {@link #load}.
 */
public abstract class RunCursor implements Closeable {
  private long[] prefixes = new long[0];
  private int size;
  private int first;
  private int row;
  private boolean ended;

  /**
   * Loads the next batch and shows its keys with {@link #show}.
   *
   * @return the end of the batch, after its last row; 0 when the run has no more
   */
  protected abstract int load() throws IOException;

  /** Compares two keys whose prefixes are equal; 0 when the prefix is the whole key. */
  protected abstract int compareTied(int row, RunCursor other, int otherRow);

  /** The prefix is the whole key, so that equal prefixes are equal keys. */
  protected abstract boolean isExact();

  /** The row versions of the batch; asked for only when versions decide or are wanted. */
  public abstract Stamps versions();

  /** The newest surviving write of each row, where that is {@link Presence#PER_ROW}. */
  public abstract Stamps written();

  /** The newest tombstone of each row, where that is {@link Presence#PER_ROW}. */
  public abstract Stamps deleted();

  /** The versions of the values of one column class, where these are {@link Presence#PER_ROW}. */
  public abstract Stamps columns(int columnClass);

  protected final void show(long[] batchPrefixes) {
    show(batchPrefixes, 0);
  }

  /**
   * @param firstRow rows of the batch before this one are left out
   */
  protected final void show(long[] batchPrefixes, int firstRow) {
    prefixes = batchPrefixes;
    first = firstRow;
  }

  final boolean advanceBatch() throws IOException {
    size = load();
    if (size > Decisions.MAX_BATCH) {
      throw new IllegalStateException(
          "a batch has " + size + " rows; the limit is " + Decisions.MAX_BATCH);
    }
    ended = size == 0;
    row = ended ? 0 : first;
    return !ended;
  }

  final boolean ended() {
    return ended;
  }

  /** Says whether the last row of the batch was taken and the next batch is not loaded yet. */
  final boolean drained() {
    return row >= size;
  }

  final int row() {
    return row;
  }

  final int size() {
    return size;
  }

  final void moveTo(int newRow) {
    row = newRow;
  }

  final long[] prefixes() {
    return prefixes;
  }
}
