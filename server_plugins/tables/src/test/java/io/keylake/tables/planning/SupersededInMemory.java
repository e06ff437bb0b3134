package io.keylake.tables.planning;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.StoredRow;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The rows of sections in memory of which no read needs anything, by the law of the merge. */
public final class SupersededInMemory {
  private record Place(String file, int position, int run, StoredRow row) {}

  private final MemoryTable table;
  private final Map<String, Set<Integer>> byFile = new TreeMap<>();
  private boolean isUnique = true;

  /**
   * @param sections the runs of each in the order in which a later one wins at equal versions
   */
  public SupersededInMemory(MemoryTable table, List<SectionPlan> sections) {
    this.table = table;
    sections.forEach(this::find);
  }

  /** Positions of superseded rows, by the location of the file. */
  public Map<String, Set<Integer>> byFile() {
    return byFile;
  }

  /** Each visible key has one row left, which is the row as a read gives it. */
  public boolean isUnique() {
    return isUnique;
  }

  private void find(SectionPlan section) {
    Map<Key, List<Place>> byKey = new HashMap<>();
    for (int run = 0; run < section.runs().size(); run++) {
      for (StoredFile file : section.runs().get(run)) {
        List<StoredRow> rows = table.rows(file.location());
        byFile.put(file.location(), new HashSet<>());
        for (int row = 0; row < rows.size(); row++) {
          byKey
              .computeIfAbsent(rows.get(row).key(), key -> new ArrayList<>())
              .add(new Place(file.location(), row, run, rows.get(row)));
        }
      }
    }
    byKey.values().forEach(this::decide);
  }

  private void decide(List<Place> all) {
    Place deleted = newest(all, StoredRow::deleted);
    Place written = alive(newest(all, StoredRow::written), StoredRow::written, deleted);
    Set<Place> needed = new HashSet<>();
    Map<String, Cell> merged = new TreeMap<>();
    all.stream()
        .flatMap(each -> each.row().cells().keySet().stream())
        .distinct()
        .forEach(
            leaf -> {
              Function<StoredRow, Long> at = row -> row.versionOf(leaf);
              Place value = alive(newest(all, at), at, deleted);
              if (value != null) {
                needed.add(value);
                merged.put(leaf, value.row().cells().get(leaf));
              }
            });
    needed.add(deleted);
    needed.add(written);
    needed.remove(null);
    List<StoredRow> shown = needed.stream().map(Place::row).filter(StoredRow::isVisible).toList();
    isUnique &=
        written == null
            ? shown.isEmpty()
            : shown.size() == 1 && shown.get(0).cells().equals(merged);
    all.stream()
        .filter(each -> !needed.contains(each))
        .forEach(each -> byFile.get(each.file()).add(each.position()));
  }

  private static @Nullable Place newest(List<Place> all, Function<StoredRow, Long> at) {
    return all.stream()
        .filter(each -> at.apply(each.row()) != null)
        .max(
            Comparator.<Place, Long>comparing(each -> at.apply(each.row()))
                .thenComparing(Place::run))
        .orElse(null);
  }

  /** A place that no newer tombstone has removed; null for one that is removed. */
  private static @Nullable Place alive(
      @Nullable Place place, Function<StoredRow, Long> at, @Nullable Place deleted) {
    if (place == null || deleted == null || place == deleted) {
      return place;
    }
    long own = Objects.requireNonNull(at.apply(place.row()));
    long removed = Objects.requireNonNull(deleted.row().deleted());
    return own > removed || (own == removed && place.run() > deleted.run()) ? place : null;
  }
}
