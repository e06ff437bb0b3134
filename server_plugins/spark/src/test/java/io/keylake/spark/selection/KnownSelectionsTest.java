package io.keylake.spark.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.roaringbitmap.RoaringBitmap;

class KnownSelectionsTest {
  private static SectionPlan section(String name, Long version) {
    List<List<StoredFile>> runs =
        List.of(
            List.of(new StoredFile(name + "-1", 10, 10, List.of(), version)),
            List.of(new StoredFile(name + "-2", 10, 10, List.of())));
    MergeRules rules =
        new MergeRules(
            MergeRules.Order.RUN,
            List.of(Presence.ALWAYS, Presence.ALWAYS),
            List.of(Presence.NEVER, Presence.NEVER),
            List.of(),
            MergeRules.Wanted.ROWS);
    return new SectionPlan(runs, rules, List.of(), List.of(Set.of(), Set.of()), null);
  }

  private static Selection selection(int rows) {
    return new Selection(Map.of("f", RoaringBitmap.bitmapOf(odd(rows))));
  }

  private static int[] odd(int rows) {
    int[] numbers = new int[rows];
    for (int i = 0; i < rows; i++) {
      numbers[i] = 2 * i + 1;
    }
    return numbers;
  }

  @Test
  void itIsFoundByFilesAndVersions() {
    KnownSelections known = new KnownSelections(1 << 20);
    known.keep(section("a", 7L), selection(3));
    assertEquals(selection(3), known.of(section("a", 7L)));
    assertNull(known.of(section("a", 8L)), "the manifest says another version of the same rows");
    assertNull(known.of(section("b", 7L)));
  }

  @Test
  void itsBytesAreBounded() {
    KnownSelections known = new KnownSelections(10_000);
    for (int number = 0; number < 100; number++) {
      known.keep(section("s" + number, null), selection(500));
      assertTrue(known.bytes() <= 10_000, "it holds " + known.bytes() + " bytes");
      assertNotNull(known.of(section("s0", null)), "what is asked for stays");
      known.keep(section("s0", null), selection(500));
    }
    assertNull(known.of(section("s50", null)));
    known.keep(section("large", null), selection(100_000));
    assertNull(known.of(section("large", null)), "one that is too large leaves");
    assertTrue(known.bytes() <= 10_000);
  }
}
