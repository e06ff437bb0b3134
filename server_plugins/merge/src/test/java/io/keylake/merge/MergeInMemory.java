package io.keylake.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.ColumnClass.Takes;
import io.keylake.merge.MergeRules.Order;
import io.keylake.merge.MergeRules.Wanted;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;

/**
 * Merges runs in memory as a reader does, and checks what every reader relies on: keys ascend, and
 * each place of a decision is a row of that key in a batch that is still there.
 *
 * @param leaves the version leaves of the wanted columns
 * @param prefix the 8 bytes by which keys are compared first
 * @param reductions of leaves that are not reduced to their latest value
 */
record MergeInMemory(
    List<String> leaves, ToLongFunction<Key> prefix, Map<String, Reduction> reductions) {

  /** What is known of the runs beforehand. */
  enum Facts {
    /** All that is true of every row; columns with the same facts are decided together. */
    TIGHT,
    /** Nothing. */
    NONE
  }

  /** One way of merging the same runs. */
  record Setting(Order order, Facts facts, Wanted wanted, int batchRows, int capacity) {}

  /** A column class, and the leaves of its columns. */
  private record Decided(ColumnClass columnClass, List<String> leaves) {}

  /** The merged rows; without stamps where only rows are wanted. */
  List<StoredRow> merge(List<List<StoredRow>> runs, Setting setting) {
    List<Decided> decided = decided(runs, setting);
    MergeRules rules =
        new MergeRules(
            setting.order(),
            presences(runs, setting.facts(), StoredRow::written),
            presences(runs, setting.facts(), StoredRow::deleted),
            decided.stream().map(Decided::columnClass).toList(),
            setting.wanted());
    List<String> stamped = decided.stream().map(each -> each.leaves().get(0)).toList();
    List<RowsCursor> cursors =
        IntStream.range(0, runs.size())
            .mapToObj(
                run ->
                    new RowsCursor(runs.get(run), rules, run, stamped, setting.batchRows(), prefix))
            .toList();
    List<StoredRow> merged = new ArrayList<>();
    try (SortedMerge merge = new SortedMerge(cursors, rules, setting.capacity())) {
      for (Decisions next = merge.next(); next.count() > 0; next = merge.next()) {
        assertTrue(next.count() <= setting.capacity());
        for (int index = 0; index < next.count(); index++) {
          merged.add(gather(next, index, cursors, decided, setting.wanted()));
        }
      }
      assertEquals(0, merge.next().count(), "an ended merge stays at its end");
      assertEquals(runs.stream().mapToLong(List::size).sum(), merge.rowsIn());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    assertTrue(cursors.stream().allMatch(RowsCursor::isClosed));
    for (int i = 1; i < merged.size(); i++) {
      assertTrue(merged.get(i - 1).key().compareTo(merged.get(i).key()) < 0, "keys ascend");
    }
    return merged;
  }

  private StoredRow gather(
      Decisions decisions,
      int index,
      List<RowsCursor> cursors,
      List<Decided> decided,
      Wanted wanted) {
    boolean stamps = wanted.hasStamps();
    Key key = stored(decisions.keys()[index], cursors).key();
    Map<String, Cell> cells = new TreeMap<>();
    for (int c = 0; c < decided.size(); c++) {
      if (decided.get(c).columnClass().takes() == Takes.ALL) {
        combine(decisions, c, index, cursors, decided.get(c).leaves(), cells, stamps);
        continue;
      }
      int place = decisions.places(c)[index];
      if (stamps) {
        assertEquals(place != Decisions.NOWHERE, decisions.columns(c).isSet(index));
      }
      if (place != Decisions.NOWHERE) {
        StoredRow row = stored(place, cursors);
        assertEquals(key, row.key());
        for (String leaf : decided.get(c).leaves()) {
          long at = stamps ? decisions.columns(c).at(index) : 0;
          cells.put(leaf, new Cell(at, row.cells().get(leaf).values()));
        }
      }
    }
    if (!stamps) {
      return new StoredRow(key, null, null, cells);
    }
    StoredRow row =
        new StoredRow(
            key, stamp(decisions.written(), index), stamp(decisions.deleted(), index), cells);
    assertEquals(row.version(), stamp(decisions.versions(), index));
    return row;
  }

  private void combine(
      Decisions decisions,
      int columnClass,
      int index,
      List<RowsCursor> cursors,
      List<String> ofClass,
      Map<String, Cell> cells,
      boolean stamps) {
    Contributions all = decisions.contributions(columnClass);
    List<StoredRow> rows = new ArrayList<>();
    for (int i = all.starts()[index]; i < all.starts()[index + 1]; i++) {
      rows.add(stored(all.places()[i], cursors));
      assertEquals(stored(decisions.keys()[index], cursors).key(), rows.get(rows.size() - 1).key());
    }
    if (stamps) {
      assertEquals(!rows.isEmpty(), decisions.columns(columnClass).isSet(index));
    }
    for (String leaf : rows.isEmpty() ? List.<String>of() : ofClass) {
      List<Long> values = rows.stream().map(row -> row.cells().get(leaf).values().get(0)).toList();
      long at = stamps ? decisions.columns(columnClass).at(index) : 0;
      cells.put(leaf, new Cell(at, reduction(leaf).combined(values)));
    }
  }

  private Reduction reduction(String leaf) {
    return reductions.getOrDefault(leaf, Reduction.LATEST);
  }

  private static Long stamp(Stamps stamps, int index) {
    return stamps.isSet(index) ? stamps.at(index) : null;
  }

  private static StoredRow stored(int place, List<RowsCursor> cursors) {
    return cursors.get(Decisions.run(place)).stored(Decisions.row(place));
  }

  private List<Decided> decided(List<List<StoredRow>> runs, Setting setting) {
    List<Decided> decided = new ArrayList<>();
    for (String leaf : leaves) {
      List<Presence> byRun = presences(runs, setting.facts(), row -> row.versionOf(leaf));
      ColumnClass own = new ColumnClass(byRun, reduction(leaf).takes());
      Decided alike =
          decided.stream().filter(each -> each.columnClass().equals(own)).findFirst().orElse(null);
      if (alike != null && !setting.wanted().hasStamps() && !byRun.contains(Presence.PER_ROW)) {
        alike.leaves().add(leaf);
      } else {
        decided.add(new Decided(own, new ArrayList<>(List.of(leaf))));
      }
    }
    return decided;
  }

  private static List<Presence> presences(
      Collection<List<StoredRow>> runs, Facts facts, Function<StoredRow, Long> version) {
    return runs.stream()
        .map(run -> facts == Facts.NONE ? Presence.PER_ROW : tightest(run, version))
        .toList();
  }

  private static Presence tightest(List<StoredRow> run, Function<StoredRow, Long> version) {
    if (run.stream().allMatch(row -> version.apply(row) == null)) {
      return Presence.NEVER;
    }
    return run.stream().allMatch(row -> Long.valueOf(row.version()).equals(version.apply(row)))
        ? Presence.ALWAYS
        : Presence.PER_ROW;
  }
}
