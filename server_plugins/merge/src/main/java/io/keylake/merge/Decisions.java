package io.keylake.merge;

import io.keylake.merge.ColumnClass.Takes;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of a merge for a batch of output rows: for every column class, where each row's value
 * lies, or its contributions.
 *
 * <p>A place is one int: the run in the upper 16 bits, the row within the run's current batch in
 * the lower 16; {@link #NOWHERE} is a null. Stamps are filled only when the rules want them.
 */
public final class Decisions {
  public static final int NOWHERE = -1;
  public static final int MAX_RUNS = 1 << 15;
  public static final int MAX_BATCH = 1 << 16;

  private final int[] keys;
  private final int[][] places;
  private final Stamps versions;
  private final Stamps written;
  private final Stamps deleted;
  private final Stamps[] columns;
  private final @Nullable Contributions[] contributions;
  private final int[] resets;
  private int count;

  /**
   * @param wholeRows whether the newest row of a key has all of its values, so that one place says
   *     everything
   */
  Decisions(int capacity, List<ColumnClass> classes, boolean stamps, boolean wholeRows) {
    int size = classes.size();
    keys = new int[capacity];
    places = new int[size][];
    contributions = new Contributions[size];
    for (int c = 0; c < size; c++) {
      boolean takesAll = classes.get(c).takes() == Takes.ALL;
      contributions[c] = takesAll ? new Contributions(capacity) : null;
      places[c] = wholeRows ? keys : new int[takesAll ? 0 : capacity];
    }
    boolean accumulates = classes.stream().anyMatch(each -> each.takes() != Takes.NEWEST);
    resets = new int[accumulates ? capacity : 0];
    int stamped = stamps ? capacity : 0;
    versions = new Stamps(stamped);
    written = new Stamps(stamped);
    deleted = new Stamps(stamped);
    columns = new Stamps[size];
    for (int c = 0; c < size; c++) {
      columns[c] = new Stamps(stamped);
    }
  }

  public static int place(int run, int row) {
    return run << 16 | row;
  }

  public static int run(int place) {
    return place >>> 16;
  }

  public static int row(int place) {
    return place & 0xFFFF;
  }

  /**
   * The places are the first rows of the batch of one run, one after the other, as where others
   * have only columns of a few of its rows. Then the batch itself is the answer.
   */
  public static boolean areFirstRows(int[] places, int count) {
    if (places[0] == NOWHERE || row(places[0]) != 0) {
      return false;
    }
    for (int i = 1; i < count; i++) {
      if (places[i] != places[0] + i) {
        return false;
      }
    }
    return true;
  }

  /** Number of output rows. */
  public int count() {
    return count;
  }

  /** The places of the keys, one for each output row. */
  public int[] keys() {
    return keys;
  }

  /**
   * The places of the winning values of a column class of which one value counts, one for each
   * output row.
   */
  public int[] places(int columnClass) {
    return places[columnClass];
  }

  /** The contributions to a column class of which all values count; null for others. */
  public @Nullable Contributions contributions(int columnClass) {
    return contributions[columnClass];
  }

  /**
   * The places of the tombstones of the latest commit, one for each output row: the contributions
   * to accumulators begin there. Only where there are accumulators.
   */
  public int[] resets() {
    return resets;
  }

  public Stamps versions() {
    return versions;
  }

  public Stamps written() {
    return written;
  }

  public Stamps deleted() {
    return deleted;
  }

  public Stamps columns(int columnClass) {
    return columns[columnClass];
  }

  void clear() {
    count = 0;
    for (Contributions each : contributions) {
      if (each != null) {
        each.clear();
      }
    }
  }

  int add(int keyPlace) {
    keys[count] = keyPlace;
    return count++;
  }

  boolean full() {
    return count == keys.length;
  }
}
