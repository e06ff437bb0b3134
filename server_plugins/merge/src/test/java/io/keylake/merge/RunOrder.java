package io.keylake.merge;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** The order in which runs may be merged without looking at versions, where there is one. */
final class RunOrder {
  private record Aged(int age, long oldest, long newest, List<StoredRow> rows) {}

  private RunOrder() {}

  /**
   * The runs, given in commit order, so that every version is above those of the runs before, or
   * equal and later.
   */
  static Optional<List<List<StoredRow>>> of(List<List<StoredRow>> runs) {
    List<Aged> sorted = new ArrayList<>();
    for (List<StoredRow> rows : runs) {
      if (!rows.isEmpty()) {
        long oldest = rows.stream().flatMapToLong(StoredRow::versions).min().orElseThrow();
        long newest = rows.stream().flatMapToLong(StoredRow::versions).max().orElseThrow();
        sorted.add(new Aged(sorted.size(), oldest, newest, rows));
      }
    }
    sorted.sort(
        Comparator.comparingLong(Aged::oldest)
            .thenComparingLong(Aged::newest)
            .thenComparingInt(Aged::age));
    for (int i = 0; i < sorted.size(); i++) {
      for (Aged later : sorted.subList(i + 1, sorted.size())) {
        Aged earlier = sorted.get(i);
        boolean isTie = earlier.newest() == later.oldest() && earlier.age() < later.age();
        if (earlier.newest() >= later.oldest() && !isTie) {
          return Optional.empty();
        }
      }
    }
    return Optional.of(sorted.stream().map(Aged::rows).toList());
  }
}
