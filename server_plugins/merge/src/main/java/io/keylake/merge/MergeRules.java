package io.keylake.merge;

import java.io.Serializable;
import java.util.List;

/**
 * The rules by which a section is merged, known from the table's spec and from file statistics
 * alone.
 *
 * @param order what makes a write newer than another one
 * @param written for each run, oldest first, whether its rows hold a surviving write
 * @param deleted for each run, whether its rows hold a tombstone
 * @param classes the wanted columns, by how they are decided
 * @param wanted which rows leave the merge, and whether their stamps are computed
 */
public record MergeRules(
    Order order,
    List<Presence> written,
    List<Presence> deleted,
    List<ColumnClass> classes,
    Wanted wanted)
    implements Serializable {

  /** The order in which one write is newer than another one. */
  public enum Order {
    /**
     * The run is enough: every version in a run is above every version in the runs before it, or
     * equal to it.
     */
    RUN,
    /** The version, and the run where versions are equal. */
    VERSION
  }

  /** The rows that a merge is asked for. */
  public enum Wanted {
    /** The visible rows. */
    ROWS,
    /** The visible rows, with their stamps. */
    ROWS_AND_STAMPS,
    /** Everything that later merges may need: visible rows and tombstones, with their stamps. */
    HISTORY,
    /** Visible rows and tombstones, without their stamps. */
    ROWS_AND_TOMBSTONES;

    public boolean hasStamps() {
      return this == ROWS_AND_STAMPS || this == HISTORY;
    }

    /** Tombstones leave the merge, too. */
    boolean hasTombstones() {
      return this == HISTORY || this == ROWS_AND_TOMBSTONES;
    }
  }

  public MergeRules {
    written = List.copyOf(written);
    deleted = List.copyOf(deleted);
    classes = List.copyOf(classes);
  }

  /**
   * Each merged row may be one stored row as it stands, which the merge then shows: all that is
   * wanted is decided together, by the newest value.
   */
  public boolean mayBeStoredRows() {
    return wanted == Wanted.ROWS
        && classes.size() <= 1
        && classes.stream().allMatch(columns -> columns.takes() == ColumnClass.Takes.NEWEST);
  }

  /**
   * All rows of all runs are writes of all columns that are looked at, of which the newest counts:
   * the rows that a read gives are then those that any later merge needs.
   */
  public boolean areWholeRows() {
    return written.stream().allMatch(presence -> presence == Presence.ALWAYS)
        && deleted.stream().allMatch(presence -> presence == Presence.NEVER)
        && classes.stream().allMatch(columns -> columns.takes() == ColumnClass.Takes.NEWEST)
        && classes.stream()
            .flatMap(columns -> columns.byRun().stream())
            .allMatch(presence -> presence == Presence.ALWAYS);
  }

  /**
   * The row of the last run is the answer for its key: later runs are newer, every row is a write
   * of all wanted columns, and nothing was deleted.
   */
  boolean wholeRows() {
    return order == Order.RUN && !wanted.hasStamps() && areWholeRows();
  }
}
