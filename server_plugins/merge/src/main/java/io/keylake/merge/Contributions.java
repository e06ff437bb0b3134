package io.keylake.merge;

import java.util.Arrays;

/**
 * The places of all values of a column class that count, for a batch of output rows, row by row and
 * in commit order: those of output row i lie from {@code starts[i]} to {@code starts[i + 1]}.
 */
public final class Contributions {
  private final int[] starts;
  private int[] places;
  private int rows;

  Contributions(int capacity) {
    starts = new int[capacity + 1];
    places = new int[capacity];
  }

  /** One more than there are output rows. */
  public int[] starts() {
    return starts;
  }

  public int[] places() {
    return places;
  }

  /** Every output row has exactly one contribution. */
  public boolean isOneEach() {
    if (starts[rows] != rows) {
      return false;
    }
    for (int row = 1; row < rows; row++) {
      if (starts[row] != row) {
        return false;
      }
    }
    return true;
  }

  void clear() {
    rows = 0;
  }

  void add(int place) {
    int end = starts[rows + 1];
    if (end == places.length) {
      places = Arrays.copyOf(places, 2 * places.length);
    }
    places[end] = place;
    starts[rows + 1] = end + 1;
  }

  /** Begins the contributions of the next output row. */
  void begin() {
    starts[rows + 1] = starts[rows];
  }

  void end() {
    rows++;
  }
}
