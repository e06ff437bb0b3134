package io.keylake.spark.reducers.sketches;

import org.roaringbitmap.RoaringBitmap;

/** The union of Roaring bitmaps of 32-bit numbers, in their portable form. */
public final class BitmapUnion implements BytesUnion {
  private RoaringBitmap union = new RoaringBitmap();

  @Override
  public void clear() {
    union = new RoaringBitmap();
  }

  @Override
  public void add(byte[] bytes) {
    union.or(RoaringBytes.read(bytes));
  }

  @Override
  public byte[] bytes() {
    return RoaringBytes.write(union);
  }
}
