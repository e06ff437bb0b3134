package io.keylake.tables.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BoundedCacheTest {
  private final List<Integer> made = new ArrayList<>();
  private final BoundedCache<Integer, String> kept =
      new BoundedCache<>(100, (key, value) -> value.length());

  private String get(int key, int bytes) {
    return kept.get(
        key,
        () -> {
          made.add(key);
          return "x".repeat(bytes);
        });
  }

  @Test
  void aValueIsMadeOnce() {
    get(1, 10);
    get(1, 10);
    assertEquals(List.of(1), made);
    assertEquals(10, kept.bytes());
  }

  @Test
  void whatWasAskedForLongestAgoIsForgotten() {
    for (int key = 0; key < 5; key++) {
      get(key, 20);
    }
    get(0, 20);
    get(5, 20);
    made.clear();
    get(0, 20);
    assertEquals(List.of(), made);
    get(1, 20);
    assertEquals(List.of(1), made);
  }

  @Test
  void aCacheIsListedForAsLongAsSomebodyHoldsIt() {
    CacheKind kind = CacheKind.CATALOG_ANSWERS;
    long hits = Objects.requireNonNull(kind.hits());
    long misses = Objects.requireNonNull(kind.misses());
    assertEquals(0, kind.mostBytes());
    kept.listed(kind);
    get(1, 10);
    get(2, 20);
    get(1, 10);
    assertEquals(100, kind.mostBytes());
    assertEquals(30, kind.bytes());
    assertEquals(2, kind.size());
    assertEquals(hits + 1, kind.hits());
    assertEquals(misses + 2, kind.misses());
    assertNull(CacheKind.COLUMN_FILTERS.hits());
  }

  @Test
  void aLargeValueIsNotKept() {
    get(1, 20);
    get(2, 101);
    get(2, 101);
    get(1, 20);
    assertEquals(List.of(1, 2, 2), made);
    assertEquals(20, kept.bytes());
    assertNull(kept.of(2));
  }

  @Test
  void aValueThatIsKeptAgainCountsOnce() {
    kept.keep(1, "x".repeat(60));
    kept.keep(1, "x".repeat(50));
    assertEquals(50, kept.bytes());
    assertEquals("x".repeat(50), kept.of(1));
  }

  @Test
  void theBytesStayWithinTheirLimit() {
    Random random = new Random(3);
    for (int i = 0; i < 10_000; i++) {
      get(random.nextInt(200), random.nextInt(120));
      assertTrue(kept.bytes() <= 100);
    }
  }

  @Test
  void aValueThatCannotBeMadeIsNotKept() {
    assertThrows(
        IOException.class,
        () ->
            kept.get(
                1,
                () -> {
                  throw new IOException("not yet");
                }));
    assertEquals(4, get(1, 4).length());
  }
}
