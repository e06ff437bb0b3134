package io.keylake.merge;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * What a row holds under one version leaf.
 *
 * @param at the version of the values
 * @param values one per column of the leaf: several in a column group, null where the column is set
 *     to null
 */
public record Cell(long at, List<Long> values) {
  public Cell {
    values = Collections.unmodifiableList(new ArrayList<>(values));
  }

  public boolean isNull() {
    return values.stream().allMatch(value -> value == null);
  }
}
