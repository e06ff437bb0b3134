package io.keylake.spark.reducers.sketches;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The union of Kll sketches, in the bytes of the DataSketches library that Spark's functions read.
 * Up to k values it is exact; beyond, it depends on how contributions are grouped, within the error
 * that k stands for. The library tosses coins when it unites, so that each read would be another.
 */
public final class KllUnion implements BytesUnion {
  private static final int FAMILY = 15;
  private static final int FULL = 1;
  private static final int SINGLE = 2;
  private static final int IS_EMPTY = 1;
  private static final int IS_SORTED = 2;
  private static final int IS_SINGLE = 4;
  private static final int INTS_OF_SHORT = 2;
  private static final int INTS_OF_FULL = 5;
  private static final int SHORT_START = 8;
  private static final int FULL_START = 20;

  private final SketchFormat format;
  private final int k;
  private final KllValues values;
  private final int width;
  private final KllLevels levels;

  public KllUnion(int k, KllValues values) {
    this.values = values;
    this.format = SketchFormat.kll(k, values);
    this.k = k;
    this.width = values == KllValues.FLOAT ? Float.BYTES : Long.BYTES;
    this.levels = new KllLevels(k);
  }

  @Override
  public void clear() {
    levels.clear();
  }

  @Override
  public void add(byte[] bytes) {
    format.check(bytes);
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int found = buffer.getShort(4) & 0xFFFF;
    if (found != k) {
      throw format.other("Kll sketch with k=" + found);
    }
    if (bytes[6] != KllLevels.M) {
      throw format.broken(bytes);
    }
    if (bytes[0] == INTS_OF_FULL && bytes[1] == FULL && bytes.length >= FULL_START) {
      addFull(buffer);
    } else if (bytes[0] != INTS_OF_SHORT) {
      throw format.broken(bytes);
    } else if (bytes[1] == SINGLE && bytes.length == SHORT_START + width) {
      long item = itemAt(buffer, SHORT_START);
      levels.startMerge(1, 1, item, item);
      levels.add(0, item);
      levels.endMerge();
    } else if (bytes[1] != FULL || bytes.length != SHORT_START) {
      throw format.broken(bytes);
    }
  }

  private void addFull(ByteBuffer buffer) {
    int leastK = buffer.getShort(16) & 0xFFFF;
    if (leastK != k) {
      throw format.other("Kll sketch that was united with one of k=" + leastK);
    }
    int[] starts = starts(buffer);
    int ofLevels = starts.length - 1;
    int items = FULL_START + Integer.BYTES * ofLevels;
    long least = itemAt(buffer, items);
    long largest = itemAt(buffer, items + width);
    items += 2 * width;
    checkWeights(buffer, starts);
    for (int at = items; at < buffer.capacity(); at += width) {
      long item = itemAt(buffer, at);
      if (item < least || item > largest) {
        throw format.broken(buffer.array());
      }
    }
    long count = buffer.getLong(8);
    if (levels.count() + count < 0) {
      throw format.other("Kll sketch that brings the count of values above 2^63");
    }
    levels.startMerge(ofLevels, count, least, largest);
    for (int level = 0; level < ofLevels; level++) {
      for (int i = starts[level]; i < starts[level + 1]; i++) {
        levels.add(level, itemAt(buffer, items + (i - starts[0]) * width));
      }
    }
    levels.endMerge();
  }

  /**
   * The places where each level begins, and where the last one ends, which says how many bytes
   * there are.
   */
  private int[] starts(ByteBuffer buffer) {
    int count = buffer.get(18);
    if (count < 1
        || count > KllLevels.MOST_LEVELS
        || buffer.capacity() < FULL_START + Integer.BYTES * count) {
      throw format.broken(buffer.array());
    }
    int[] starts = new int[count + 1];
    starts[count] = KllLevels.capacity(k, count);
    for (int level = count - 1; level >= 0; level--) {
      starts[level] = buffer.getInt(FULL_START + Integer.BYTES * level);
      if (starts[level] < 0 || starts[level] > starts[level + 1]) {
        throw format.broken(buffer.array());
      }
    }
    int items = 2 + starts[count] - starts[0];
    if (buffer.capacity() != FULL_START + Integer.BYTES * count + items * width) {
      throw format.broken(buffer.array());
    }
    return starts;
  }

  private void checkWeights(ByteBuffer buffer, int[] starts) {
    long weights = 0;
    for (int level = 0; level < starts.length - 1; level++) {
      long size = starts[level + 1] - starts[level];
      if (size > Long.MAX_VALUE >>> level || weights + (size << level) < weights) {
        throw format.broken(buffer.array());
      }
      weights += size << level;
    }
    if (weights != buffer.getLong(8) || weights < 2) {
      throw format.broken(buffer.array());
    }
  }

  /** An item as a long in the order of the values. */
  private long itemAt(ByteBuffer buffer, int at) {
    return switch (values) {
      case LONG -> buffer.getLong(at);
      case FLOAT -> ordered(buffer, Float.isNaN(buffer.getFloat(at)), buffer.getInt(at));
      case DOUBLE -> ordered(buffer, Double.isNaN(buffer.getDouble(at)), buffer.getLong(at));
    };
  }

  private long ordered(ByteBuffer buffer, boolean isNaN, long bits) {
    if (isNaN) {
      throw format.broken(buffer.array());
    }
    return flipped(bits);
  }

  /** Turns the bits of a float or double into a long in the same order, and back. */
  private static long flipped(long bits) {
    return bits < 0 ? bits ^ Long.MAX_VALUE : bits;
  }

  private void put(ByteBuffer buffer, long item) {
    switch (values) {
      case LONG -> buffer.putLong(item);
      case FLOAT -> buffer.putInt((int) flipped(item));
      case DOUBLE -> buffer.putLong(flipped(item));
    }
  }

  @Override
  public byte[] bytes() {
    return levels.count() <= 1 ? shortBytes() : fullBytes();
  }

  private byte[] shortBytes() {
    boolean isSingle = levels.count() == 1;
    ByteBuffer buffer =
        start(
            isSingle ? SHORT_START + width : SHORT_START,
            INTS_OF_SHORT,
            isSingle ? SINGLE : FULL,
            isSingle ? IS_SINGLE | IS_SORTED : IS_EMPTY);
    if (isSingle) {
      put(buffer, levels.item(0, 0));
    }
    return buffer.array();
  }

  private byte[] fullBytes() {
    int ofLevels = levels.levels();
    int length = FULL_START + Integer.BYTES * ofLevels + (2 + levels.retained()) * width;
    ByteBuffer buffer = start(length, INTS_OF_FULL, FULL, IS_SORTED);
    buffer.putLong(levels.count());
    buffer.putShort((short) k);
    buffer.put((byte) ofLevels);
    buffer.put((byte) 0);
    int begin = levels.capacity() - levels.retained();
    for (int level = 0; level < ofLevels; level++) {
      buffer.putInt(begin);
      begin += levels.size(level);
    }
    put(buffer, levels.least());
    put(buffer, levels.largest());
    for (int level = 0; level < ofLevels; level++) {
      for (int at = 0; at < levels.size(level); at++) {
        put(buffer, levels.item(level, at));
      }
    }
    return buffer.array();
  }

  private ByteBuffer start(int length, int ints, int version, int flags) {
    ByteBuffer buffer = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    buffer.put((byte) ints).put((byte) version).put((byte) FAMILY).put((byte) flags);
    return buffer.putShort((short) k).put((byte) KllLevels.M).put((byte) 0);
  }
}
