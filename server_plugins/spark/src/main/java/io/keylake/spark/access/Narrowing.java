package io.keylake.spark.access;

import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The part of a table that a rule shows.
 *
 * @param rows a condition in SQL that shown rows fulfil; null for all rows
 * @param only the columns that are shown; empty for all
 * @param except the columns that are not shown
 * @param masks expressions in SQL in the place of values, by column
 */
public record Narrowing(
    @Nullable String rows, Set<String> only, Set<String> except, Map<String, String> masks) {
  static final Narrowing NONE = new Narrowing(null, Set.of(), Set.of(), Map.of());

  public Narrowing {
    only = Set.copyOf(only);
    except = Set.copyOf(except);
    masks = Map.copyOf(masks);
  }

  public boolean isNone() {
    return equals(NONE);
  }

  public boolean hides(String column) {
    return has(except, column) || (!only.isEmpty() && !has(only, column));
  }

  public @Nullable String mask(String column) {
    return masks.entrySet().stream()
        .filter(mask -> mask.getKey().equalsIgnoreCase(column))
        .map(Map.Entry::getValue)
        .findFirst()
        .orElse(null);
  }

  /** The column is hidden, or shown with other values. */
  public boolean changes(String column) {
    return hides(column) || mask(column) != null;
  }

  /** Names of columns that differ by case alone are one column, in every session. */
  private static boolean has(Set<String> names, String column) {
    return names.stream().anyMatch(column::equalsIgnoreCase);
  }
}
