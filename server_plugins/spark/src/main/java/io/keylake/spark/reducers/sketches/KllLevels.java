package io.keylake.spark.reducers.sketches;

import java.util.Arrays;

/**
 * The levels of items that a Kll sketch keeps, where an item of level h counts for 2^h values.
 * Items are longs in the order of the values that they mean.
 *
 * <p>When there are more items than the sketch may keep, the lowest level that is full is
 * compacted: sorted, and every other item moves up. Which half moves is taken from the items
 * themselves, so that the same contributions in the same order always give the same sketch.
 */
final class KllLevels {
  /** The least capacity of a level, which is the same in all sketches. */
  static final int M = 8;

  static final int MOST_LEVELS = 63;

  private final int k;
  private long[][] items = new long[1][0];
  private int[] sizes = new int[1];
  private int levels = 1;
  private int retained;
  private long count;
  private long least = Long.MAX_VALUE;
  private long largest = Long.MIN_VALUE;

  KllLevels(int k) {
    this.k = k;
  }

  void clear() {
    Arrays.fill(sizes, 0);
    levels = 1;
    retained = 0;
    count = 0;
    least = Long.MAX_VALUE;
    largest = Long.MIN_VALUE;
  }

  /**
   * Takes another sketch.
   *
   * @param count of its values
   * @param least of its values, which need not be among its items
   */
  void startMerge(int otherLevels, long count, long least, long largest) {
    while (levels < otherLevels) {
      addLevel();
    }
    this.count += count;
    this.least = Math.min(this.least, least);
    this.largest = Math.max(this.largest, largest);
  }

  /** Takes an item of the other sketch. */
  void add(int level, long item) {
    if (sizes[level] == items[level].length) {
      items[level] = Arrays.copyOf(items[level], Math.max(M, 2 * sizes[level]));
    }
    items[level][sizes[level]++] = item;
    retained++;
  }

  /** Ends a merge: no more items than may be kept, each level in order. */
  void endMerge() {
    while (retained > capacity()) {
      compact(fullLevel());
    }
    for (int level = 0; level < levels; level++) {
      Arrays.sort(items[level], 0, sizes[level]);
    }
  }

  private int fullLevel() {
    int level = 0;
    while (sizes[level] < capacity(k, levels, level)) {
      level++;
    }
    return level;
  }

  private void compact(int level) {
    if (level == levels - 1) {
      addLevel();
    }
    long[] from = items[level];
    int size = sizes[level];
    Arrays.sort(from, 0, size);
    long coins = coins(level);
    boolean keepsFirst = size % 2 == 1 && (coins & 2) == 0;
    boolean keepsLast = size % 2 == 1 && !keepsFirst;
    long kept = keepsFirst ? from[0] : from[size - 1];
    int end = keepsLast ? size - 1 : size;
    sizes[level] = 0;
    retained -= size;
    for (int i = (keepsFirst ? 1 : 0) + (int) (coins & 1); i < end; i += 2) {
      add(level + 1, from[i]);
    }
    if (keepsFirst || keepsLast) {
      add(level, kept);
    }
  }

  /** Bits that look random: they decide which half of a level moves up. */
  private long coins(int level) {
    long mixed = count * 31 + level;
    for (int i = 0; i < sizes[level]; i++) {
      mixed = (mixed ^ items[level][i]) * 0x9E3779B97F4A7C15L;
      mixed ^= mixed >>> 32;
    }
    return mixed;
  }

  private void addLevel() {
    if (levels == items.length) {
      items = Arrays.copyOf(items, levels + 1);
      items[levels] = new long[0];
      sizes = Arrays.copyOf(sizes, levels + 1);
    }
    levels++;
  }

  int levels() {
    return levels;
  }

  int size(int level) {
    return sizes[level];
  }

  long item(int level, int at) {
    return items[level][at];
  }

  int retained() {
    return retained;
  }

  long count() {
    return count;
  }

  long least() {
    return least;
  }

  long largest() {
    return largest;
  }

  int capacity() {
    return capacity(k, levels);
  }

  /** The number of items that a sketch of so many levels may keep. */
  static int capacity(int k, int levels) {
    int all = 0;
    for (int level = 0; level < levels; level++) {
      all += capacity(k, levels, level);
    }
    return all;
  }

  /** k in the highest level, and from each level to the one below it two thirds. */
  private static int capacity(int k, int levels, int level) {
    int depth = levels - level - 1;
    if (depth <= 30) {
      return (int) Math.max(M, shrunk(k, depth));
    }
    return (int) Math.max(M, shrunk(shrunk(k, depth / 2), depth - depth / 2));
  }

  private static long shrunk(long k, int depth) {
    long power = 1;
    for (int i = 0; i < depth; i++) {
      power *= 3;
    }
    return ((2 * k << depth) / power + 1) >>> 1;
  }
}
