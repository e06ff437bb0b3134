package io.keylake.spark.reducers.sketches;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.datasketches.memory.Memory;
import org.apache.datasketches.theta.CompactSketch;
import org.apache.datasketches.theta.HashIterator;
import org.apache.datasketches.thetacommon.ThetaUtil;

/**
 * The union of compact Theta sketches, in the bytes that Spark's functions make.
 *
 * <p>A sketch has hashes of values below a bound. The union has all hashes below the smallest
 * bound, and of more than 2^lg_nominal the smallest: the bound is then the next one. That has no
 * order, and a union of unions is the union of all.
 */
public final class ThetaUnion implements BytesUnion {
  private static final int COMPRESSED = 4;
  private static final int UNCOMPRESSED = 3;
  private static final int FLAGS_AT = 5;
  private static final int EMPTY = 4;
  private static final int SINGLE = 32;
  private static final int OF_ENTRIES = EMPTY | SINGLE | 1;
  private static final int USUAL_FLAGS = 0x1F;
  private static final int READ_ONLY_FLAGS = 0x1A;
  private static final short SEED_HASH = ThetaUtil.computeSeedHash(ThetaUtil.DEFAULT_UPDATE_SEED);

  private final SketchFormat format;
  private final int nominal;
  private long bound = Long.MAX_VALUE;
  private long[] hashes = {};
  private int count;
  private long[] spare = {};

  public ThetaUnion(int lgNominal) {
    this.format = SketchFormat.theta(lgNominal);
    this.nominal = 1 << lgNominal;
  }

  @Override
  public void clear() {
    bound = Long.MAX_VALUE;
    count = 0;
  }

  @Override
  public void add(byte[] contribution) {
    CompactSketch sketch = read(contribution);
    int entries = sketch.getRetainedEntries(true);
    if (entries > nominal / 8 * 15) {
      throw format.other(
          "Theta sketch of %d entries, made with a larger lg_nominal".formatted(entries));
    }
    if (sketch.isEstimationMode() && entries < nominal) {
      throw format.other(
          "Theta sketch that keeps only %d entries, made with a smaller lg_nominal or an intersection"
              .formatted(entries));
    }
    unite(sketch);
  }

  @Override
  public void merge(byte[] stored) {
    unite(read(stored));
  }

  private void unite(CompactSketch sketch) {
    long[] more = new long[sketch.getRetainedEntries(true)];
    int size = 0;
    for (HashIterator each = sketch.iterator(); each.next(); ) {
      more[size++] = each.get();
    }
    if (!sketch.isOrdered()) {
      Arrays.sort(more);
    }
    bound = Math.min(bound, sketch.getThetaLong());
    if (spare.length < count + size) {
      spare = new long[count + size];
    }
    int kept = 0;
    for (int mine = 0, other = 0; mine < count || other < size; ) {
      boolean isMine = other == size || (mine < count && hashes[mine] <= more[other]);
      long hash = isMine ? hashes[mine++] : more[other++];
      if (hash >= bound) {
        break;
      }
      if (kept == 0 || spare[kept - 1] != hash) {
        if (kept == nominal) {
          bound = hash;
          break;
        }
        spare[kept++] = hash;
      }
    }
    long[] before = hashes;
    hashes = spare;
    spare = before;
    count = kept;
  }

  private CompactSketch read(byte[] bytes) {
    format.check(bytes);
    if (bytes.length != length(bytes)) {
      throw format.broken(bytes);
    }
    CompactSketch sketch;
    try {
      sketch = CompactSketch.heapify(Memory.wrap(bytes), ThetaUtil.DEFAULT_UPDATE_SEED);
    } catch (RuntimeException e) {
      throw format.broken(bytes);
    }
    long before = 0;
    for (HashIterator hashes = sketch.iterator(); hashes.next(); ) {
      long hash = hashes.get();
      if (hash <= before || hash >= sketch.getThetaLong()) {
        throw format.broken(bytes);
      }
      before = sketch.isOrdered() ? hash : 0;
    }
    return sketch;
  }

  /**
   * The number of bytes of a sketch as its first bytes say it; -1 where they say nothing. The
   * library reads what lies beyond the end of an array without a check.
   */
  private static long length(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int longs = bytes[0] & 0x3F;
    boolean hasEntries = (bytes[FLAGS_AT] & OF_ENTRIES) == 0;
    if (bytes[1] == COMPRESSED) {
      return hasEntries && longs <= 2 ? compressedLength(buffer, 8 * longs) : -1;
    }
    if (bytes[1] != UNCOMPRESSED) {
      return -1;
    }
    if (longs == 1) {
      boolean isSingle = (bytes[FLAGS_AT] & USUAL_FLAGS) == READ_ONLY_FLAGS;
      boolean isEmpty = (bytes[FLAGS_AT] & OF_ENTRIES) == EMPTY;
      return isEmpty ? 8 : isSingle ? 16 : -1;
    }
    if (!hasEntries || longs < 2 || longs > 3 || bytes.length < 8 * longs) {
      return -1;
    }
    int entries = buffer.getInt(8);
    return entries < 0 ? -1 : 8L * (longs + (long) entries);
  }

  private static long compressedLength(ByteBuffer buffer, int start) {
    int bits = buffer.get(3);
    int bytesOfCount = buffer.get(4);
    if (bits < 1 || bits > 63 || bytesOfCount < 1 || bytesOfCount > 4) {
      return -1;
    }
    if (start < 8 || buffer.capacity() < start + bytesOfCount) {
      return -1;
    }
    long entries = 0;
    for (int i = 0; i < bytesOfCount; i++) {
      entries |= (buffer.get(start + i) & 0xFFL) << (8 * i);
    }
    return start + bytesOfCount + (bits * entries + 7) / 8;
  }

  /** The library compresses what is written here in the form that is not compressed. */
  @Override
  public byte[] bytes() {
    boolean isExact = bound == Long.MAX_VALUE;
    int longs = isExact && count <= 1 ? 1 : 3;
    int flags = isExact && count == 0 ? EMPTY : isExact && count == 1 ? SINGLE : 0;
    ByteBuffer buffer = ByteBuffer.allocate(8 * (longs + count)).order(ByteOrder.LITTLE_ENDIAN);
    buffer.put(0, (byte) longs).put(1, (byte) UNCOMPRESSED).put(2, (byte) format.family());
    buffer.put(FLAGS_AT, (byte) (flags | READ_ONLY_FLAGS));
    buffer.putShort(6, flags == EMPTY ? 0 : SEED_HASH);
    if (longs > 1) {
      buffer.putInt(8, count).putFloat(12, 1).putLong(16, bound);
    }
    buffer.position(8 * longs);
    for (int i = 0; i < count; i++) {
      buffer.putLong(hashes[i]);
    }
    return longs == 1
        ? buffer.array()
        : CompactSketch.heapify(Memory.wrap(buffer.array())).toByteArrayCompressed();
  }
}
