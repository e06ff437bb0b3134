package io.keylake.spark.reducers.sketches;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.memory.Memory;
import org.apache.datasketches.theta.CompactSketch;
import org.apache.datasketches.theta.SetOperation;
import org.apache.datasketches.theta.Union;
import org.apache.datasketches.theta.UpdateSketch;
import org.junit.jupiter.api.Test;

/** Unions of Theta sketches beside those of the library, and bytes that are none. */
class ThetaUnionTest {
  @Test
  void anyOrderAndGroupingGivesTheSameBytes() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      int lgNominal = List.of(4, 6, 9).get(random.nextInt(3));
      BytesUnion union = union(lgNominal);
      Union judge = SetOperation.builder().setLogNominalEntries(lgNominal).buildUnion();
      List<byte[]> parts = new ArrayList<>();
      for (int i = random.nextInt(6); i >= 0; i--) {
        CompactSketch part = drawn(lgNominal, random).compact(random.nextBoolean(), null);
        judge.union(part);
        parts.add(random.nextBoolean() ? part.toByteArray() : part.toByteArrayCompressed());
      }
      byte[] found = Folds.inOrder(union, parts);
      assertArrayEquals(found, Folds.grouped(union, parts, random), "seed " + seed);
      assertArrayEquals(judge.getResult().toByteArrayCompressed(), found, "seed " + seed);
    }
  }

  @Test
  void othersAreRefused() {
    BytesUnion union = union(12);
    byte[] large = filled(14, 50_000).compact().toByteArrayCompressed();
    Folds.refuses(
        union, large, "larger lg_nominal", "lg_nominal=12", "theta_sketch_agg(value, 12)");
    byte[] small = filled(10, 50_000).compact().toByteArray();
    Folds.refuses(union, small, "smaller lg_nominal", "lg_nominal=12");
    byte[] open = filled(12, 9).toByteArray();
    Folds.refuses(union, open, "Theta sketch that is not compact");
    Folds.refuses(union, new HllSketch(12).toCompactByteArray(), "is an Hll sketch");
    byte[] seeded = UpdateSketch.builder().setSeed(7).build().compact().toByteArray();
    assertEquals(8, seeded.length);
    UpdateSketch other = UpdateSketch.builder().setSeed(7).build();
    other.update(1);
    other.update(2);
    Folds.refuses(union, other.compact().toByteArray(), "not the bytes of a Theta sketch");
    Folds.refuses(union, new byte[] {1, 2, 3}, "3 bytes");
  }

  @Test
  void damagedBytesAreRefusedOrRead() {
    Random random = new Random(5);
    for (int i = 0; i < 60; i++) {
      CompactSketch part = drawn(5, random).compact(i % 3 > 0, null);
      byte[] bytes = i % 2 == 0 ? part.toByteArray() : part.toByteArrayCompressed();
      Folds.damage(
          () -> union(5),
          bytes,
          random,
          value -> CompactSketch.heapify(Memory.wrap(value)).getEstimate());
    }
  }

  private static BytesUnion union(int lgNominal) {
    return new ThetaUnion(lgNominal);
  }

  private static UpdateSketch drawn(int lgNominal, Random random) {
    UpdateSketch sketch = UpdateSketch.builder().setLogNominalEntries(lgNominal).build();
    int most = List.of(0, 1, 2, 20, 300, 5_000).get(random.nextInt(6));
    for (int i = 0; i < most; i++) {
      sketch.update(random.nextInt(2 * most));
    }
    return sketch;
  }

  private static UpdateSketch filled(int lgNominal, int values) {
    UpdateSketch sketch = UpdateSketch.builder().setLogNominalEntries(lgNominal).build();
    for (int i = 0; i < values; i++) {
      sketch.update(i);
    }
    return sketch;
  }
}
