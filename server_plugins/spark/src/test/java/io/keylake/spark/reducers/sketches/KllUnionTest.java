package io.keylake.spark.reducers.sketches;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.kll.KllDoublesSketch;
import org.apache.datasketches.kll.KllFloatsSketch;
import org.apache.datasketches.kll.KllLongsSketch;
import org.apache.datasketches.memory.Memory;
import org.junit.jupiter.api.Test;

/** Unions of Kll sketches, read by the library. */
class KllUnionTest {
  private static final double[] RANKS = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99};

  @Test
  void fewValuesAreExactInAnyOrderAndGrouping() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      BytesUnion union = union(200, KllValues.DOUBLE);
      List<byte[]> parts = new ArrayList<>();
      List<Double> values = new ArrayList<>();
      for (int i = random.nextInt(6); i >= 0; i--) {
        KllDoublesSketch part = KllDoublesSketch.newHeapInstance(200);
        for (int j = random.nextInt(33); j > 0; j--) {
          double value =
              List.of(-0.0, 0.0, -1e300, Double.POSITIVE_INFINITY).get(random.nextInt(4));
          values.add(random.nextBoolean() ? value : random.nextGaussian());
          part.update(values.get(values.size() - 1));
        }
        parts.add(part.toByteArray());
      }
      byte[] found = Folds.inOrder(union, parts);
      assertArrayEquals(found, Folds.grouped(union, parts, random), "seed " + seed);
      KllDoublesSketch read = KllDoublesSketch.heapify(Memory.wrap(found));
      double[] sorted = values.stream().mapToDouble(value -> value).sorted().toArray();
      assertEquals(sorted.length, read.getN());
      for (int i = 0; i < sorted.length; i++) {
        assertEquals(sorted[i] + 0.0, read.getQuantile((i + 0.5) / sorted.length) + 0.0, 0.0);
      }
      assertEquals(found.length, read.getSerializedSizeBytes());
    }
  }

  @Test
  void manyValuesStayWithinTheError() {
    for (int seed = 0; seed < 8; seed++) {
      Random random = new Random(seed);
      BytesUnion union = union(200, KllValues.LONG);
      List<byte[]> parts = new ArrayList<>();
      List<Long> values = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        KllLongsSketch part = KllLongsSketch.newHeapInstance(200);
        for (int j = random.nextInt(2_000); j > 0; j--) {
          values.add(i * 500L + random.nextInt(5_000));
          part.update(values.get(values.size() - 1));
        }
        parts.add(part.toByteArray());
      }
      long[] sorted = values.stream().mapToLong(value -> value).sorted().toArray();
      byte[] found = Folds.inOrder(union, parts);
      assertArrayEquals(found, Folds.inOrder(union, parts), "the same in the same order");
      checkRanks(sorted, found);
      checkRanks(sorted, Folds.grouped(union, parts, random));
    }
  }

  private static void checkRanks(long[] sorted, byte[] bytes) {
    KllLongsSketch read = KllLongsSketch.heapify(Memory.wrap(bytes));
    assertEquals(sorted.length, read.getN());
    assertEquals(sorted[0], read.getMinItem());
    assertEquals(sorted[sorted.length - 1], read.getMaxItem());
    assertTrue(read.getNumRetained() < 700, "retained " + read.getNumRetained());
    for (double rank : RANKS) {
      int at = Arrays.binarySearch(sorted, read.getQuantile(rank));
      assertEquals(rank, (double) at / sorted.length, 0.02, "rank " + rank);
    }
  }

  @Test
  void theLibraryGoesOnWithAStoredSketch() {
    KllFloatsSketch part = KllFloatsSketch.newHeapInstance(50);
    BytesUnion union = union(50, KllValues.FLOAT);
    for (int i = 0; i < 10_000; i++) {
      part.update(i - 5_000);
    }
    List<byte[]> parts = List.of(part.toByteArray(), part.toByteArray());
    KllFloatsSketch stored = KllFloatsSketch.heapify(Memory.wrap(Folds.inOrder(union, parts)));
    for (int i = 0; i < 10_000; i++) {
      stored.update(i - 5_000);
    }
    assertEquals(30_000, stored.getN());
    assertEquals(0, stored.getQuantile(0.5), 900);
    assertEquals(-5_000, stored.getMinItem());
  }

  @Test
  void othersAreRefused() {
    BytesUnion union = union(200, KllValues.DOUBLE);
    byte[] large = KllDoublesSketch.newHeapInstance(400).toByteArray();
    Folds.refuses(union, large, "k=400", "k=200", "kll_sketch_agg_double(value, 200)");
    KllFloatsSketch floats = KllFloatsSketch.newHeapInstance(200);
    floats.update(1);
    floats.update(2);
    Folds.refuses(
        union,
        floats.toByteArray(),
        "not the bytes of a Kll sketch with k=200 of values of type double");
    Folds.refuses(union, new HllSketch(12).toCompactByteArray(), "is an Hll sketch");
    KllDoublesSketch mixed = KllDoublesSketch.newHeapInstance(200);
    KllDoublesSketch coarse = KllDoublesSketch.newHeapInstance(20);
    for (int i = 0; i < 1_000; i++) {
      coarse.update(i);
    }
    mixed.merge(coarse);
    Folds.refuses(union, mixed.toByteArray(), "united with one of k=20", "k=200");
    Folds.refuses(union(200, KllValues.LONG), new byte[1], "kll_sketch_agg_bigint");
  }

  @Test
  void damagedBytesAreRefusedOrRead() {
    Random random = new Random(5);
    for (int i = 0; i < 60; i++) {
      KllDoublesSketch part = KllDoublesSketch.newHeapInstance(20);
      for (int j = List.of(0, 1, 15, 1_000).get(i % 4); j > 0; j--) {
        part.update(random.nextGaussian());
      }
      Folds.damage(
          () -> union(20, KllValues.DOUBLE),
          part.toByteArray(),
          random,
          value -> KllDoublesSketch.heapify(Memory.wrap(value)).getN());
    }
  }

  private static BytesUnion union(int k, KllValues values) {
    return new KllUnion(k, values);
  }
}
