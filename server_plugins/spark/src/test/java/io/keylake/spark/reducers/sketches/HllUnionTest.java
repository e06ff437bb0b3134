package io.keylake.spark.reducers.sketches;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.hll.TgtHllType;
import org.apache.datasketches.hll.Union;
import org.apache.datasketches.memory.Memory;
import org.apache.datasketches.theta.UpdateSketch;
import org.junit.jupiter.api.Test;

/** Unions of Hll sketches beside those of the library, and bytes that are none. */
class HllUnionTest {
  @Test
  void anyOrderAndGroupingGivesTheSameBytes() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      int lgK = List.of(4, 7, 8, 9, 12).get(random.nextInt(5));
      BytesUnion union = union(lgK);
      Union judge = new Union(lgK);
      List<byte[]> parts = new ArrayList<>();
      for (int i = random.nextInt(6); i >= 0; i--) {
        HllSketch part = drawn(lgK, random);
        judge.update(part);
        parts.add(random.nextBoolean() ? part.toCompactByteArray() : part.toUpdatableByteArray());
      }
      byte[] found = Folds.inOrder(union, parts);
      assertArrayEquals(found, Folds.grouped(union, parts, random), "seed " + seed);
      HllSketch read = HllSketch.heapify(found);
      HllSketch expected = judge.getResult(TgtHllType.HLL_8);
      assertEquals(expected.getCompositeEstimate(), read.getEstimate(), "seed " + seed);
      assertEquals(expected.toCompactByteArray().length, found.length, "seed " + seed);
      assertEquals(read.getEstimate(), HllSketch.wrap(memory(found)).getEstimate());
    }
  }

  private static Memory memory(byte[] bytes) {
    return Memory.wrap(bytes);
  }

  /** The estimate of a stored sketch does not depend on the order in which values came. */
  @Test
  void oneContributionAndTwoHalvesAreTheSame() {
    HllSketch whole = new HllSketch(12, TgtHllType.HLL_8);
    HllSketch even = new HllSketch(12);
    HllSketch odd = new HllSketch(12, TgtHllType.HLL_6);
    for (int i = 0; i < 50_000; i++) {
      whole.update(i);
      (i % 2 == 0 ? even : odd).update(i);
    }
    BytesUnion union = union(12);
    assertArrayEquals(
        Folds.inOrder(union, List.of(whole.toUpdatableByteArray())),
        Folds.inOrder(union, List.of(odd.toCompactByteArray(), even.toCompactByteArray())));
  }

  @Test
  void theLibraryGoesOnWithAStoredSketch() {
    HllSketch part = new HllSketch(10);
    for (int i = 0; i < 10_000; i++) {
      part.update(i);
    }
    HllSketch stored =
        HllSketch.heapify(Folds.inOrder(union(10), List.of(part.toCompactByteArray())));
    for (int i = 10_000; i < 20_000; i++) {
      stored.update(i);
    }
    assertEquals(20_000, stored.getEstimate(), 1_500);
  }

  @Test
  void othersAreRefused() {
    BytesUnion union = union(12);
    byte[] small = drawn(10, new Random(1)).toCompactByteArray();
    Folds.refuses(union, small, "lg_k=10", "lg_k=12", "hll_sketch_agg(value, 12)");
    byte[] theta = UpdateSketch.builder().build().compact().toByteArray();
    Folds.refuses(union, theta, "is a Theta sketch", "lg_k=12");
    Folds.refuses(union, new byte[0], "0 bytes", "Hll sketch");
    Folds.refuses(union, "not a sketch at all".getBytes(), "19 bytes", "hll_sketch_agg");
  }

  @Test
  void damagedBytesAreRefusedOrRead() {
    Random random = new Random(5);
    for (int i = 0; i < 60; i++) {
      int lgK = List.of(4, 8, 10).get(i % 3);
      HllSketch part = drawn(lgK, random);
      byte[] bytes = i % 2 == 0 ? part.toCompactByteArray() : part.toUpdatableByteArray();
      Folds.damage(
          () -> union(lgK), bytes, random, value -> HllSketch.heapify(value).getEstimate());
    }
  }

  private static BytesUnion union(int lgK) {
    return new HllUnion(lgK);
  }

  private static HllSketch drawn(int lgK, Random random) {
    HllSketch sketch = new HllSketch(lgK, TgtHllType.values()[random.nextInt(3)]);
    int most = List.of(0, 3, 9, 60, 600, 20_000, 100_000).get(random.nextInt(7));
    for (int i = 0; i < most; i++) {
      sketch.update((long) random.nextInt(2 * most));
    }
    return sketch;
  }
}
