package io.keylake.spark.reducers.sketches;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.roaringbitmap.RoaringBitmap;

/** Roaring bitmaps of 32-bit numbers in their portable form. */
public final class RoaringBytes {
  private RoaringBytes() {}

  /** The bitmap that bytes of users are. */
  public static RoaringBitmap read(byte[] bytes) {
    RoaringBitmap bitmap = new RoaringBitmap();
    try {
      bitmap.deserialize(ByteBuffer.wrap(bytes));
      return bitmap;
    } catch (IOException | RuntimeException e) {
      throw new KeylakeException(
          BAD_ROWS,
          "%d bytes are not a Roaring bitmap in its portable form; make them with roaring_of(value), or send what a Roaring library serializes"
              .formatted(bytes.length));
    }
  }

  /** The same bytes for equal bitmaps. */
  public static byte[] write(RoaringBitmap bitmap) {
    bitmap.runOptimize();
    byte[] bytes = new byte[bitmap.serializedSizeInBytes()];
    bitmap.serialize(ByteBuffer.wrap(bytes));
    return bytes;
  }
}
