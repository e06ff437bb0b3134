package io.keylake.merge;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The merge law by brute force, as a twin of everything clever. Every write, every value and every
 * tombstone has a place (version, commit, row); the larger place is the newer one.
 *
 * <ol>
 *   <li>A value is the one with the newest place, of those newer than the newest tombstone.
 *   <li>The row is visible iff some write of it is newer than the newest tombstone.
 *   <li>Accumulators go by (commit, version of the row, row): what is later than the last tombstone
 *       is combined, or the value of the smallest place is taken.
 * </ol>
 */
public final class MergeLaw {
  private record Place(long version, int commit, int row) implements Comparable<Place> {
    private static final Comparator<Place> ORDER =
        Comparator.comparingLong(Place::version)
            .thenComparingInt(Place::commit)
            .thenComparingInt(Place::row);

    @Override
    public int compareTo(Place other) {
      return ORDER.compare(this, other);
    }
  }

  private record Contribution(int commit, int number, WrittenRow row) {
    Place at(long version) {
      return new Place(version, commit, number);
    }

    boolean isLaterThan(Contribution other) {
      int order = Integer.compare(commit, other.commit);
      order = order != 0 ? order : Long.compare(row.version(), other.row.version());
      return order != 0 ? order > 0 : number > other.number;
    }
  }

  private MergeLaw() {}

  /**
   * All that is to be known of each key, by key, tombstones included.
   *
   * @param commits the rows of each commit, as written; keys may repeat
   * @param reductions of leaves that are not reduced to their latest value
   */
  public static List<StoredRow> history(
      List<List<WrittenRow>> commits, Map<String, Reduction> reductions) {
    Map<Key, List<Contribution>> byKey = new TreeMap<>();
    for (int commit = 0; commit < commits.size(); commit++) {
      List<WrittenRow> rows = commits.get(commit);
      for (int number = 0; number < rows.size(); number++) {
        WrittenRow row = rows.get(number);
        byKey
            .computeIfAbsent(row.key(), key -> new ArrayList<>())
            .add(new Contribution(commit, number, row));
      }
    }
    return byKey.entrySet().stream()
        .map(entry -> resolve(entry.getKey(), entry.getValue(), reductions))
        .toList();
  }

  private static StoredRow resolve(
      Key key, List<Contribution> all, Map<String, Reduction> reductions) {
    Place deleted = null;
    Set<String> leaves = new HashSet<>();
    for (Contribution each : all) {
      leaves.addAll(each.row().cells().keySet());
      if (each.row().isTombstone()) {
        deleted = newer(deleted, each.at(each.row().version()));
      }
    }
    Place written = null;
    for (Contribution each : all) {
      if (!each.row().isTombstone()) {
        written = newer(written, each.at(each.row().version()));
        for (Cell cell : each.row().cells().values()) {
          written = newer(written, each.at(cell.at()));
        }
      }
    }
    Map<String, Cell> values = new TreeMap<>();
    for (String leaf : leaves) {
      Reduction reduction = reductions.getOrDefault(leaf, Reduction.LATEST);
      Cell value =
          reduction.accumulates()
              ? accumulated(leaf, all, reduction)
              : value(leaf, all, deleted, reduction.skipsNulls());
      if (value != null) {
        values.put(leaf, value);
      }
    }
    return new StoredRow(
        key,
        isAlive(written, deleted) ? written.version() : null,
        deleted == null ? null : deleted.version(),
        values);
  }

  private static Cell value(
      String leaf, List<Contribution> all, Place deleted, boolean skipsNulls) {
    Place newest = null;
    Cell value = null;
    for (Contribution each : all) {
      Cell cell = each.row().cells().get(leaf);
      if (cell != null && !(skipsNulls && cell.isNull())) {
        Place place = each.at(cell.at());
        if (isAlive(place, deleted) && place.equals(newer(newest, place))) {
          newest = place;
          value = cell;
        }
      }
    }
    return value;
  }

  private static Cell accumulated(String leaf, List<Contribution> all, Reduction reduction) {
    List<Contribution> left =
        all.stream()
            .filter(each -> each.row().cells().containsKey(leaf))
            .filter(each -> !each.row().cells().get(leaf).isNull())
            .filter(
                each ->
                    all.stream()
                        .filter(other -> other.row().isTombstone())
                        .allMatch(each::isLaterThan))
            .toList();
    if (left.isEmpty()) {
      return null;
    }
    Comparator<Contribution> byPlace =
        Comparator.comparing(each -> each.at(each.row().cells().get(leaf).at()));
    if (reduction == Reduction.FIRST) {
      return left.stream().min(byPlace).orElseThrow().row().cells().get(leaf);
    }
    long newest = left.stream().max(byPlace).orElseThrow().row().cells().get(leaf).at();
    List<Long> values =
        left.stream().map(each -> each.row().cells().get(leaf).values().get(0)).toList();
    return new Cell(newest, reduction.folded(values));
  }

  private static boolean isAlive(Place place, Place deleted) {
    return place != null && (deleted == null || place.compareTo(deleted) > 0);
  }

  private static Place newer(Place a, Place b) {
    return a == null || b.compareTo(a) > 0 ? b : a;
  }
}
