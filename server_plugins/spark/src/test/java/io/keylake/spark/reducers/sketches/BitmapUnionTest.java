package io.keylake.spark.reducers.sketches;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.roaringbitmap.RoaringBitmap;

/** Unions of bitmaps in any order, and bytes that are none. */
class BitmapUnionTest {
  @Test
  void anyOrderGivesTheSameBytes() throws IOException {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      RoaringBitmap expected = new RoaringBitmap();
      byte[][] parts = new byte[1 + random.nextInt(5)][];
      for (int i = 0; i < parts.length; i++) {
        RoaringBitmap part = drawn(random);
        expected.or(part);
        parts[i] = bytes(part);
      }
      BytesUnion forwards = new BitmapUnion();
      BytesUnion backwards = new BitmapUnion();
      for (int i = 0; i < parts.length; i++) {
        forwards.add(parts[i]);
        backwards.merge(parts[parts.length - 1 - i]);
      }
      assertArrayEquals(forwards.bytes(), backwards.bytes(), "seed " + seed);
      RoaringBitmap found = new RoaringBitmap();
      found.deserialize(ByteBuffer.wrap(forwards.bytes()));
      assertEquals(expected, found, "seed " + seed);
    }
  }

  private static RoaringBitmap drawn(Random random) {
    RoaringBitmap bitmap = new RoaringBitmap();
    long from = random.nextInt(1 << 20);
    switch (random.nextInt(3)) {
      case 0 -> bitmap.add(from, from + random.nextInt(100_000));
      case 1 -> random.ints(random.nextInt(20_000)).forEach(bitmap::add);
      default -> random.ints(random.nextInt(10), 0, 50).forEach(bitmap::add);
    }
    return bitmap;
  }

  @Test
  void otherBytesAreRefused() {
    for (byte[] bytes : new byte[][] {{}, {1, 2, 3}, {0x3A, 0x30, 0, 0, 5, 0, 0, 0, 1}}) {
      BytesUnion union = new BitmapUnion();
      KeylakeException refused = assertThrows(KeylakeException.class, () -> union.add(bytes));
      assertEquals(KeylakeException.Kind.BAD_ROWS, refused.kind());
      assertTrue(refused.sentence().contains(bytes.length + " bytes"), refused.sentence());
    }
  }

  private static byte[] bytes(RoaringBitmap bitmap) {
    byte[] bytes = new byte[bitmap.serializedSizeInBytes()];
    bitmap.serialize(ByteBuffer.wrap(bytes));
    return bytes;
  }
}
