package io.keylake.merge;

import java.util.Arrays;

/** A run in memory that costs as little as a run can: its batches are copies of its keys. */
final class RunInArrays extends RunCursor {
  private static final int BATCH_ROWS = 4096;

  private final long[] firsts;
  private final byte[][] texts;
  private final long[] seconds;
  private int start;
  private int next;

  /**
   * @param firsts the prefixes of the keys
   * @param texts whole keys where they are texts, or null
   * @param seconds the second key column, or null
   */
  RunInArrays(long[] firsts, byte[][] texts, long[] seconds) {
    this.firsts = firsts;
    this.texts = texts;
    this.seconds = seconds;
  }

  /** The same run from its start. */
  RunInArrays again() {
    return new RunInArrays(firsts, texts, seconds);
  }

  int rows() {
    return firsts.length;
  }

  /** Compares any two rows, by their places in the runs. */
  int compare(int place, RunInArrays other, int otherPlace) {
    int order = Long.compare(firsts[place], other.firsts[otherPlace]);
    return order != 0 ? order : compareRest(place, other, otherPlace);
  }

  private int compareRest(int place, RunInArrays other, int otherPlace) {
    if (texts != null) {
      return Arrays.compareUnsigned(texts[place], other.texts[otherPlace]);
    }
    return seconds == null ? 0 : Long.compare(seconds[place], other.seconds[otherPlace]);
  }

  @Override
  protected int load() {
    start = next;
    next = Math.min(start + BATCH_ROWS, firsts.length);
    show(Arrays.copyOfRange(firsts, start, next));
    return next - start;
  }

  @Override
  protected int compareTied(int row, RunCursor other, int otherRow) {
    RunInArrays that = (RunInArrays) other;
    return compareRest(start + row, that, that.start + otherRow);
  }

  @Override
  protected boolean isExact() {
    return texts == null && seconds == null;
  }

  @Override
  public Stamps versions() {
    throw new UnsupportedOperationException("runs are in version order");
  }

  @Override
  public Stamps written() {
    throw new UnsupportedOperationException("every row is written");
  }

  @Override
  public Stamps deleted() {
    throw new UnsupportedOperationException("no row is deleted");
  }

  @Override
  public Stamps columns(int columnClass) {
    throw new UnsupportedOperationException("every run carries the columns");
  }

  @Override
  public void close() {}
}
