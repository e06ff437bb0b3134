package io.keylake.spark.accumulators;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/** The union of Roaring bitmaps of 32-bit numbers, in their portable form. */
final class BitmapUnion extends Accumulator {
  private RoaringBitmap union = new RoaringBitmap();

  @Override
  void reset() {
    union = new RoaringBitmap();
  }

  @Override
  void add(SpecializedGetters row, int ordinal) {
    byte[] bytes = row.getBinary(ordinal);
    RoaringBitmap bitmap = new RoaringBitmap();
    try {
      bitmap.deserialize(ByteBuffer.wrap(bytes));
    } catch (IOException | RuntimeException e) {
      throw new KeylakeException(
          BAD_ROWS,
          "a contribution of %d bytes is not a Roaring bitmap in its portable form; send what a Roaring library serializes"
              .formatted(bytes.length));
    }
    union.or(bitmap);
  }

  @Override
  public @Nullable Object value() {
    if (isEmpty()) {
      return null;
    }
    union.runOptimize();
    byte[] bytes = new byte[union.serializedSizeInBytes()];
    union.serialize(ByteBuffer.wrap(bytes));
    return bytes;
  }
}
