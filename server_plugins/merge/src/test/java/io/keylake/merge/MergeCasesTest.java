package io.keylake.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.MergeInMemory.Facts;
import io.keylake.merge.MergeInMemory.Setting;
import io.keylake.merge.MergeRules.Order;
import io.keylake.merge.MergeRules.Wanted;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The merge cases that pytest reads as well, each in every way of merging the same rows. */
class MergeCasesTest {
  private static final List<Integer> SIZES = List.of(1, 2, 3, 64);

  static List<MergeCase> cases() {
    return MergeCase.readAll();
  }

  @ParameterizedTest
  @MethodSource("cases")
  void theLawAgrees(MergeCase given) {
    assertFalse(given.reads().isEmpty(), "a case without a read says nothing");
    for (MergeCase.Read read : given.reads()) {
      check(given, read, MergeLaw.history(given.runs(read), given.reductions()), Wanted.HISTORY);
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void everyMergeGivesTheExpectedLines(MergeCase given) {
    MergeInMemory merge = merge(given);
    for (MergeCase.Read read : given.reads()) {
      List<List<StoredRow>> runs = stored(given, read);
      for (Setting setting : settings(Order.VERSION)) {
        check(given, read, merge.merge(runs, setting), setting.wanted());
      }
      RunOrder.of(runs)
          .filter(ordered -> isForAll(given, ordered, runs))
          .ifPresent(
              ordered -> {
                for (Setting setting : settings(Order.RUN)) {
                  check(given, read, merge.merge(ordered, setting), setting.wanted());
                }
              });
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void everyCompactionGivesTheSameHistory(MergeCase given) {
    MergeInMemory merge = merge(given);
    Setting history = new Setting(Order.VERSION, Facts.TIGHT, Wanted.HISTORY, 2, 3);
    Setting careful = new Setting(Order.VERSION, Facts.NONE, Wanted.HISTORY, 64, 64);
    for (MergeCase.Read read : given.reads()) {
      List<List<StoredRow>> runs = stored(given, read);
      List<StoredRow> expected = MergeLaw.history(given.runs(read), given.reductions());
      for (int cuts = 0; cuts < 1 << Math.max(runs.size() - 1, 0); cuts++) {
        List<List<StoredRow>> compacted =
            contiguous(runs, cuts).stream().map(range -> merge.merge(range, history)).toList();
        assertEquals(expected, merge.merge(compacted, history));
        assertEquals(expected, merge.merge(compacted, careful));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void oneColumnIsTheProjectionOfTheWhole(MergeCase given) {
    for (MergeCase.Read read : given.reads()) {
      List<List<StoredRow>> runs = stored(given, read);
      Setting setting = new Setting(Order.VERSION, Facts.TIGHT, Wanted.ROWS, 2, 2);
      List<StoredRow> whole = merge(given).merge(runs, setting);
      for (String leaf : given.leaves().keySet()) {
        List<StoredRow> projection =
            new MergeInMemory(List.of(leaf), Key::first, given.reductions()).merge(runs, setting);
        assertEquals(whole.stream().map(row -> projected(row, leaf)).toList(), projection);
      }
      assertEquals(
          whole.stream().map(StoredRow::key).toList(),
          new MergeInMemory(List.of(), Key::first, Map.of())
              .merge(runs, setting).stream().map(StoredRow::key).toList());
    }
  }

  /** Accumulators want the order of commits. */
  private static boolean isForAll(
      MergeCase given, List<List<StoredRow>> ordered, List<List<StoredRow>> runs) {
    return given.reductions().values().stream().noneMatch(Reduction::accumulates)
        || ordered.equals(runs.stream().filter(run -> !run.isEmpty()).toList());
  }

  private static MergeInMemory merge(MergeCase given) {
    return new MergeInMemory(List.copyOf(given.leaves().keySet()), Key::first, given.reductions());
  }

  /** The runs as they are stored: the rows of a key in one run are one row. */
  private static List<List<StoredRow>> stored(MergeCase given, MergeCase.Read read) {
    return given.runs(read).stream()
        .map(run -> MergeLaw.history(List.of(run), given.reductions()))
        .toList();
  }

  private static List<Setting> settings(Order order) {
    List<Setting> settings = new ArrayList<>();
    for (Wanted wanted : List.of(Wanted.ROWS, Wanted.ROWS_AND_STAMPS, Wanted.HISTORY)) {
      for (Facts facts : Facts.values()) {
        for (int batchRows : SIZES) {
          for (int capacity : SIZES) {
            settings.add(new Setting(order, facts, wanted, batchRows, capacity));
          }
        }
      }
    }
    return settings;
  }

  private static void check(
      MergeCase given, MergeCase.Read read, List<StoredRow> merged, Wanted wanted) {
    List<StoredRow> visible =
        merged.stream().filter(row -> wanted != Wanted.HISTORY || row.isVisible()).toList();
    assertEquals(read.rows(), visible.stream().map(given::rowLine).toList());
    if (wanted == Wanted.ROWS) {
      return;
    }
    Set<String> keys = new HashSet<>();
    merged.forEach(row -> keys.add("! k=" + row.key().first()));
    Set<String> stamps = new HashSet<>();
    merged.forEach(row -> stamps.add(given.stampsLine(row)));
    for (String line : read.stamps()) {
      boolean isThere = keys.contains(line.substring(0, line.indexOf(" version=")));
      assertTrue(
          isThere ? stamps.contains(line) : wanted != Wanted.HISTORY, () -> line + " in " + stamps);
    }
  }

  /** The runs cut where a bit is set; what lies between two cuts becomes one run. */
  private static List<List<List<StoredRow>>> contiguous(List<List<StoredRow>> runs, int cuts) {
    List<List<List<StoredRow>>> ranges = new ArrayList<>();
    for (int run = 0; run < runs.size(); run++) {
      if (run == 0 || (cuts >> (run - 1) & 1) == 1) {
        ranges.add(new ArrayList<>());
      }
      ranges.get(ranges.size() - 1).add(runs.get(run));
    }
    return ranges;
  }

  private static StoredRow projected(StoredRow row, String leaf) {
    Map<String, Cell> cells =
        row.cells().containsKey(leaf) ? Map.of(leaf, row.cells().get(leaf)) : Map.of();
    return new StoredRow(row.key(), null, null, cells);
  }
}
