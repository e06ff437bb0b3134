package io.keylake.spark.read.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.ColumnClass;
import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.tables.planning.KeySlice;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.DecidedColumns;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.roaringbitmap.RoaringBitmap;

class SelectionCacheTest {
  private static SectionPlan section(String name, Long version) {
    return section(name, version, MergeRules.Wanted.ROWS, Presence.NEVER, null);
  }

  private static SectionPlan section(
      String name, Long version, MergeRules.Wanted wanted, Presence deleted, KeySlice slice) {
    List<List<StoredFile>> runs =
        List.of(
            List.of(new StoredFile(name + "-1", 10, 10, List.of(), version)),
            List.of(new StoredFile(name + "-2", 10, 10, List.of())));
    MergeRules rules =
        new MergeRules(
            MergeRules.Order.RUN,
            List.of(Presence.ALWAYS, Presence.ALWAYS),
            List.of(Presence.NEVER, deleted),
            List.of(new ColumnClass(List.of(Presence.ALWAYS, Presence.ALWAYS))),
            wanted);
    DecidedColumns columns = new DecidedColumns(1, List.of(2));
    return new SectionPlan(runs, rules, List.of(columns), List.of(Set.of(), Set.of()), slice);
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
    SelectionCache known = new SelectionCache(1 << 20);
    known.keep(section("a", 7L), selection(3));
    assertEquals(selection(3), known.of(section("a", 7L)));
    assertNull(known.of(section("a", 8L)), "the manifest says another version of the same rows");
    assertNull(known.of(section("b", 7L)));
  }

  private static SectionPlan toSettle(Presence deleted) {
    return section("a", null, MergeRules.Wanted.ROWS_AND_TOMBSTONES, deleted, null);
  }

  private static void keepSlice(SelectionCache known, Long lower, Long upper, int row) {
    known.keep(
        section("a", null, MergeRules.Wanted.ROWS, Presence.NEVER, new KeySlice(lower, upper)),
        new Selection(Map.of("a-1", RoaringBitmap.bitmapOf(row))));
  }

  @Test
  void whoSettlesFindsWhatReadsHaveFound() {
    SelectionCache known = new SelectionCache(1 << 20);
    assertNull(known.ofWholeRows(toSettle(Presence.NEVER)));
    known.keep(section("a", null), new Selection(Map.of("a-1", RoaringBitmap.bitmapOf(0, 9))));
    Selection found = known.ofWholeRows(toSettle(Presence.NEVER));
    assertNotNull(found);
    List<StoredFile> files =
        toSettle(Presence.NEVER).runs().stream().map(run -> run.get(0)).toList();
    assertEquals(RoaringBitmap.bitmapOfRange(1, 9), found.others(files.get(0)));
    assertEquals(RoaringBitmap.bitmapOfRange(0, 10), found.others(files.get(1)));
    assertNull(
        known.ofWholeRows(toSettle(Presence.PER_ROW)), "a tombstone is needed, and not read");
  }

  @Test
  void slicesAreASectionWhereNoneIsMissing() {
    SelectionCache known = new SelectionCache(1 << 20);
    keepSlice(known, null, 10L, 1);
    keepSlice(known, 20L, null, 3);
    keepSlice(known, 5L, 5L, 9);
    assertNull(known.ofWholeRows(toSettle(Presence.NEVER)), "nobody has read from 10 to 20");
    keepSlice(known, 10L, 20L, 2);
    assertEquals(
        new Selection(Map.of("a-1", RoaringBitmap.bitmapOf(1, 2, 3))),
        known.ofWholeRows(toSettle(Presence.NEVER)));
  }

  @Test
  void itsBytesAreBounded() {
    SelectionCache known = new SelectionCache(10_000);
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
