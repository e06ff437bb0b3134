package io.keylake.spark.accumulators;

import io.keylake.tables.spec.SketchForm;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.datasketches.memory.Memory;
import org.apache.datasketches.theta.CompactSketch;
import org.apache.datasketches.theta.HashIterator;
import org.apache.datasketches.theta.SetOperation;
import org.apache.datasketches.theta.Union;
import org.apache.datasketches.thetacommon.ThetaUtil;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.jspecify.annotations.Nullable;

/**
 * The union of compact Theta sketches, in the bytes that Spark's functions make.
 *
 * <p>A sketch has hashes of values below a bound. The union has all hashes below the smallest
 * bound, and of more than 2^lg_nominal the smallest: the bound is then the next one. That has no
 * order, and a union of unions is the union of all.
 */
final class ThetaUnion extends Accumulator {
  private static final int COMPRESSED = 4;
  private static final int UNCOMPRESSED = 3;
  private static final int FLAGS_AT = 5;
  private static final int EMPTY = 4;
  private static final int SINGLE = 32;
  private static final int OF_ENTRIES = EMPTY | SINGLE | 1;
  private static final int USUAL_FLAGS = 0x1F;
  private static final int FLAGS_OF_SINGLE = 0x1A;

  private final SketchFormat format;
  private final int nominal;
  private final Union union;

  ThetaUnion(SketchForm form) {
    this.format = SketchFormat.theta(form);
    this.nominal = 1 << form.size();
    this.union = SetOperation.builder().setLogNominalEntries(form.size()).buildUnion();
  }

  @Override
  void reset() {
    union.reset();
  }

  @Override
  void add(SpecializedGetters row, int ordinal) {
    CompactSketch sketch = read(row.getBinary(ordinal));
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
    union.union(sketch);
  }

  @Override
  void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    union.union(read(row.getBinary(ordinal)));
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
   * How many bytes a sketch has by what its first bytes say; -1 where they say nothing. The library
   * reads what lies beyond the end of an array without a check.
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
      boolean isSingle = (bytes[FLAGS_AT] & USUAL_FLAGS) == FLAGS_OF_SINGLE;
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

  @Override
  public @Nullable Object value() {
    return isEmpty() ? null : union.getResult().toByteArrayCompressed();
  }
}
