package io.keylake.merge;

import java.io.Serializable;
import java.util.List;

/**
 * Columns that are decided together: the same runs carry them, in the same rows, at the same
 * versions. Two overlapping streams over 500 columns make four classes, and four decisions a key.
 *
 * @param byRun for each run, oldest first, whether its rows carry these columns
 */
public record ColumnClass(List<Presence> byRun) implements Serializable {
  public ColumnClass {
    byRun = List.copyOf(byRun);
  }
}
