package io.keylake.spark.reducers.sketches;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Contributions of bytes, folded in one way and another. */
final class Folds {
  private Folds() {}

  static byte[] inOrder(BytesUnion union, List<byte[]> parts) {
    union.clear();
    parts.forEach(part -> union.add(part));
    return union.bytes();
  }

  /** In random order; groups become one value, as commits do when they are compacted. */
  static byte[] grouped(BytesUnion union, List<byte[]> parts, Random random) {
    List<byte[]> shuffled = new ArrayList<>(parts);
    Collections.shuffle(shuffled, random);
    List<byte[]> stored = new ArrayList<>();
    for (int at = 0; at < shuffled.size(); ) {
      int end = Math.min(shuffled.size(), at + 1 + random.nextInt(3));
      stored.add(inOrder(union, shuffled.subList(at, end)));
      at = end;
    }
    union.clear();
    stored.forEach(value -> union.merge(value));
    return union.bytes();
  }

  static void refuses(BytesUnion union, byte[] bytes, String... says) {
    KeylakeException refused = assertThrows(KeylakeException.class, () -> union.add(bytes));
    assertEquals(KeylakeException.Kind.BAD_ROWS, refused.kind());
    for (String each : says) {
      assertTrue(refused.sentence().contains(each), refused.sentence());
    }
  }

  /**
   * Bytes that were cut, lengthened or changed: refused, or a sketch all the same.
   *
   * @param reader fails where the value is no sketch
   */
  static void damage(
      Supplier<BytesUnion> made, byte[] bytes, Random random, Consumer<byte[]> reader) {
    for (int i = 0; i < 200; i++) {
      byte[] damaged =
          Arrays.copyOf(
              bytes, random.nextBoolean() ? bytes.length : random.nextInt(bytes.length + 9));
      for (int change = random.nextInt(3); change > 0 && damaged.length > 0; change--) {
        int most = random.nextBoolean() ? Math.min(24, damaged.length) : damaged.length;
        damaged[random.nextInt(most)] = (byte) random.nextInt();
      }
      BytesUnion union = made.get();
      try {
        union.add(damaged);
      } catch (KeylakeException e) {
        assertEquals(KeylakeException.Kind.BAD_ROWS, e.kind());
        continue;
      }
      reader.accept(union.bytes());
    }
  }
}
