package io.keylake.spark.reducers.sketches;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.tables.KeylakeException;
import java.util.Arrays;

/** The union of pages of bits, as Spark's {@code bitmap_construct_agg} makes them. */
public final class PageUnion implements BytesUnion {
  private static final int BYTES = 4096;

  private final byte[] bits = new byte[BYTES];

  @Override
  public void clear() {
    Arrays.fill(bits, (byte) 0);
  }

  @Override
  public void add(byte[] page) {
    if (page.length > BYTES) {
      throw new KeylakeException(
          BAD_ROWS,
          "a contribution has %d bytes, and a page of a bitmap has at most %d; make it with bitmap_construct_agg(bitmap_bit_position(value)), one for each bitmap_bucket_number(value)"
              .formatted(page.length, BYTES));
    }
    for (int i = 0; i < page.length; i++) {
      bits[i] |= page[i];
    }
  }

  @Override
  public byte[] bytes() {
    return bits.clone();
  }
}
