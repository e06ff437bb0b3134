package io.keylake.spark.reducers.sketches;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The union of HLL sketches, in the bytes of the DataSketches library that Spark's functions read.
 *
 * <p>A sketch of few values is the set of their coupons: 26 bits that choose a slot, 6 bits of
 * value. One of more values has the largest value of each slot. Both are sets of facts, whose union
 * has no order. What the library keeps beside them depends on the order (an estimate made while
 * values come, the places of coupons in a hash table), so it is left out: coupons are sorted, and
 * slots are flagged as out of order, which makes every reader estimate from the slots alone.
 */
public final class HllUnion implements BytesUnion {
  private static final int SER_VER = 1;
  private static final int EMPTY = 4;
  private static final int COMPACT = 8;
  private static final int OUT_OF_ORDER = 16;
  private static final int LIST = 0;
  private static final int SET = 1;
  private static final int SLOTS = 2;
  private static final int[] INTS_OF_PREAMBLE = {2, 3, 10};
  private static final int[] START = {8, 12, 40};
  private static final int BYTE_EACH = 2;
  private static final int MOST_IN_LIST = 7;
  private static final int LG_LIST = 3;
  private static final int LG_SMALLEST_SET = 5;
  private static final int VALUE_SHIFT = 26;
  private static final int MOST_VALUE = 63;
  private static final long MOST_VALUES = 0x3F3F_3F3F_3F3F_3F3FL;
  private static final long HIGHEST_BITS = 0x8080_8080_8080_8080L;
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
  private static final int IN_EXCEPTIONS = 15;

  private final SketchFormat format;
  private final int lgK;
  private final int mostCoupons;
  private int[] coupons = {};
  private boolean hasSlots;
  private byte[] slots = {};

  public HllUnion(int lgK) {
    this.format = SketchFormat.hll(lgK);
    this.lgK = lgK;
    this.mostCoupons = lgK < 8 ? MOST_IN_LIST : 3 << (lgK - 5);
  }

  @Override
  public void clear() {
    coupons = new int[0];
    hasSlots = false;
    Arrays.fill(slots, (byte) 0);
  }

  @Override
  public void add(byte[] bytes) {
    format.check(bytes);
    if (bytes[3] != lgK) {
      throw format.other("Hll sketch with lg_k=" + bytes[3]);
    }
    int mode = bytes[7] & 3;
    boolean isOne =
        bytes[1] == SER_VER && mode <= SLOTS && (bytes[0] & 0x3F) == INTS_OF_PREAMBLE[mode];
    if (!isOne || bytes.length < START[mode]) {
      throw format.broken(bytes);
    }
    if (mode == SLOTS) {
      addSlots(bytes);
    } else {
      addCoupons(bytes, mode);
    }
  }

  private void addCoupons(byte[] bytes, int mode) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int count = mode == LIST ? bytes[6] & 0xFF : buffer.getInt(8);
    int[] found = pairs(buffer, START[mode], count, bytes);
    if (hasSlots) {
      addToSlots(found);
      return;
    }
    coupons = union(coupons, found);
    if (coupons.length > mostCoupons) {
      startSlots();
    }
  }

  /** Pairs of slot and value that fill the rest of the bytes, with empty places between them. */
  private int[] pairs(ByteBuffer buffer, int start, int count, byte[] bytes) {
    int places = (bytes.length - start) / Integer.BYTES;
    if (count < 0 || count > places || start + places * Integer.BYTES != bytes.length) {
      throw format.broken(bytes);
    }
    int[] found = new int[count];
    int next = 0;
    for (int i = 0; i < places; i++) {
      int pair = buffer.getInt(start + i * Integer.BYTES);
      if (pair != 0) {
        if (next == count || pair >>> VALUE_SHIFT == 0) {
          throw format.broken(bytes);
        }
        found[next++] = pair;
      }
    }
    if (next < count) {
      throw format.broken(bytes);
    }
    return found;
  }

  private static int[] union(int[] sorted, int[] more) {
    int[] all = Arrays.copyOf(sorted, sorted.length + more.length);
    System.arraycopy(more, 0, all, sorted.length, more.length);
    Arrays.sort(all);
    int kept = 0;
    for (int i = 0; i < all.length; i++) {
      if (i == 0 || all[i] != all[i - 1]) {
        all[kept++] = all[i];
      }
    }
    return Arrays.copyOf(all, kept);
  }

  private void startSlots() {
    if (slots.length == 0) {
      slots = new byte[1 << lgK];
    }
    hasSlots = true;
    addToSlots(coupons);
    coupons = new int[0];
  }

  private void addToSlots(int[] pairs) {
    for (int pair : pairs) {
      raise(pair & (slots.length - 1), pair >>> VALUE_SHIFT);
    }
  }

  private void raise(int slot, int value) {
    if (value > slots[slot]) {
      slots[slot] = (byte) value;
    }
  }

  private void addSlots(byte[] bytes) {
    int bits = 4 + (((bytes[7] >>> 2) & 3) << 1);
    int count = 1 << lgK;
    int length = bits == 6 ? (count * 3 >>> 2) + 1 : count * bits >>> 3;
    int end = START[SLOTS] + length;
    if (bits > 8 || bytes.length < end || (bits != 4 && bytes.length != end)) {
      throw format.broken(bytes);
    }
    byte[] found = bits == 8 ? bytes : unpacked(bytes, bits, count);
    int from = bits == 8 ? START[SLOTS] : 0;
    if (!hasSlots) {
      startSlots();
    }
    long bitsOfAll = 0;
    for (int i = 0; i < count; i += Long.BYTES) {
      long more = (long) LONGS.get(found, from + i);
      bitsOfAll |= more;
      LONGS.set(slots, i, largest((long) LONGS.get(slots, i), more));
    }
    if ((bitsOfAll & ~MOST_VALUES) != 0) {
      throw format.broken(bytes);
    }
  }

  /** The larger of each of eight bytes; none of them has its highest bit. */
  private static long largest(long some, long others) {
    long isLess = ~((some | HIGHEST_BITS) - others) & HIGHEST_BITS;
    long ofOthers = (isLess >>> 7) * 0xFF;
    return (some & ~ofOthers) | (others & ofOthers);
  }

  /** The slots of a sketch that has 4 or 6 bits for each; with 4 bits, large values lie apart. */
  private byte[] unpacked(byte[] bytes, int bits, int count) {
    byte[] values = new byte[count];
    int mask = (1 << bits) - 1;
    for (int i = 0; i < count; i++) {
      int at = START[SLOTS] + (i * bits >>> 3);
      int two = bytes[at] & 0xFF | (at + 1 < bytes.length ? (bytes[at + 1] & 0xFF) << 8 : 0);
      values[i] = (byte) (two >>> (i * bits & 7) & mask);
    }
    if (bits == 4) {
      addBase(values, bytes);
    }
    return values;
  }

  private void addBase(byte[] values, byte[] bytes) {
    for (int i = 0; i < values.length; i++) {
      values[i] = (byte) (values[i] == IN_EXCEPTIONS ? -1 : values[i] + bytes[6]);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int pair : pairs(buffer, START[SLOTS] + values.length / 2, buffer.getInt(36), bytes)) {
      int slot = pair & (values.length - 1);
      if (values[slot] != -1) {
        throw format.broken(bytes);
      }
      values[slot] = (byte) (pair >>> VALUE_SHIFT);
    }
  }

  @Override
  public byte[] bytes() {
    return hasSlots ? slotBytes() : couponBytes();
  }

  private byte[] couponBytes() {
    int mode = coupons.length <= MOST_IN_LIST ? LIST : SET;
    ByteBuffer buffer = start(mode, START[mode] + coupons.length * Integer.BYTES);
    int lgPlaces = mode == LIST ? LG_LIST : LG_SMALLEST_SET;
    while (mode == SET && 4 * coupons.length > 3 << lgPlaces) {
      lgPlaces++;
    }
    buffer.put(4, (byte) lgPlaces);
    buffer.put(5, (byte) (coupons.length == 0 ? COMPACT | EMPTY : COMPACT));
    if (mode == LIST) {
      buffer.put(6, (byte) coupons.length);
    } else {
      buffer.putInt(8, coupons.length);
    }
    buffer.position(START[mode]);
    for (int coupon : coupons) {
      buffer.putInt(coupon);
    }
    return buffer.array();
  }

  /** The sums of inverse powers are exact, in whatever order: none needs more than 53 bits. */
  private byte[] slotBytes() {
    int[] counts = new int[MOST_VALUE + 1];
    for (byte value : slots) {
      counts[value]++;
    }
    double ofSmall = 0;
    double ofLarge = 0;
    for (int value = 0; value <= MOST_VALUE; value++) {
      double sum = Math.scalb((double) counts[value], -value);
      if (value < 32) {
        ofSmall += sum;
      } else {
        ofLarge += sum;
      }
    }
    ByteBuffer buffer = start(SLOTS, START[SLOTS] + slots.length);
    buffer.put(5, (byte) (COMPACT | OUT_OF_ORDER));
    buffer.putDouble(16, ofSmall);
    buffer.putDouble(24, ofLarge);
    buffer.putInt(32, counts[0]);
    buffer.position(START[SLOTS]);
    buffer.put(slots);
    return buffer.array();
  }

  private ByteBuffer start(int mode, int length) {
    ByteBuffer buffer = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    buffer.put(0, (byte) INTS_OF_PREAMBLE[mode]);
    buffer.put(1, (byte) SER_VER);
    buffer.put(2, (byte) format.family());
    buffer.put(3, (byte) lgK);
    buffer.put(7, (byte) (BYTE_EACH << 2 | mode));
    return buffer;
  }
}
