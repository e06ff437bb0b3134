package io.keylake.merge;

import java.util.Arrays;

/**
 * The versions at which something happened to the rows of one batch: {@code at[row]}, meaningful
 * where {@code set[row]}.
 *
 * <p>Versions are absolute. On disk they are lags behind the row's version; whoever fills the
 * stamps subtracts, in wrapping 64-bit arithmetic, so that the extremes of the version range
 * survive the round trip.
 */
public final class Stamps {
  private long[] at;
  private boolean[] set;

  public Stamps(int capacity) {
    at = new long[capacity];
    set = new boolean[capacity];
  }

  public void set(int row, long version) {
    at[row] = version;
    set[row] = true;
  }

  public void clear(int row) {
    set[row] = false;
  }

  public void setAll(int size, long version) {
    Arrays.fill(at, 0, size, version);
    Arrays.fill(set, 0, size, true);
  }

  public boolean isSet(int row) {
    return set[row];
  }

  public long at(int row) {
    return at[row];
  }
}
