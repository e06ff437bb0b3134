package io.keylake.merge;

import java.io.Serializable;
import java.util.List;

/**
 * Columns that are decided together: the same runs carry them, in the same rows, at the same
 * versions. Two overlapping streams over 500 columns make four classes, and four decisions a key.
 *
 * @param byRun for each run, oldest first, whether its rows carry these columns
 * @param takes which of the stored values count; where it is not the newest alone, the runs must be
 *     in commit order
 */
public record ColumnClass(List<Presence> byRun, Takes takes) implements Serializable {

  /** Says which of the stored values of a column count. */
  public enum Takes {
    /** The newest by version, of those that no tombstone of a later version removes. */
    NEWEST,
    /** The one of the earliest version, of those that no later commit has reset. */
    EARLIEST,
    /** All that no later commit has reset. */
    ALL
  }

  public ColumnClass {
    byRun = List.copyOf(byRun);
  }

  /** Columns of which the newest value counts. */
  public ColumnClass(List<Presence> byRun) {
    this(byRun, Takes.NEWEST);
  }
}
