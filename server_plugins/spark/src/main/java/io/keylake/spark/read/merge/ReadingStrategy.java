package io.keylake.spark.read.merge;

import io.keylake.spark.read.selection.SelectionCache;
import io.keylake.tables.planning.SectionPlan;

/**
 * The way in which a section is read. It is chosen once, before a file is opened, by {@link
 * #of(SectionFacts)}:
 *
 * <ol>
 *   <li>The plan passes the rows through: {@link Way#PASS_THROUGH}.
 *   <li>Each merged row may be one stored row, and an earlier read has found which: {@link
 *       Way#SELECTION_KNOWN}. Where none has, and all rows of many columns are wanted: {@link
 *       Way#KEYS_FIRST}, and if that finds a merged row that is not one stored row, the choice
 *       {@link #afterKeys}.
 *   <li>A filter, or many runs, make it likely that most values need not be opened: {@link
 *       Way#SIEVE_FIRST}.
 *   <li>All else: {@link Way#MERGE}.
 * </ol>
 *
 * @param sievesFiles whether rows of a file that is passed through are first tested by the filter,
 *     with the columns of the filter alone
 */
public record ReadingStrategy(Way way, boolean sievesFiles) {
  /** Value columns that make up for keys that are opened twice. */
  private static final int MANY_COLUMNS = 5;

  /**
   * Runs of which it is likely that most rows lost, which is what keys that are updated all the
   * time look like.
   */
  private static final int MANY_RUNS = 16;

  /** The way in which the merged rows of a section are found. */
  public enum Way {
    /** The stored rows of one run are the answer as they stand. */
    PASS_THROUGH("pass through"),
    /** An earlier read has found which stored rows win: the others are left out. */
    SELECTION_KNOWN("selection known"),
    /** A merge of the keys alone finds which stored rows win: the others are left out. */
    KEYS_FIRST("keys first"),
    /** A merge of keys and filtered columns says which values the merge has to open. */
    SIEVE_FIRST("sieve first"),
    /** One merge opens all wanted columns. */
    MERGE("merge");

    private final String words;

    Way(String words) {
      this.words = words;
    }
  }

  static ReadingStrategy of(SectionFacts section) {
    boolean sievesFiles = section.read().maySieveFiles();
    if (section.isPassedThrough()) {
      return new ReadingStrategy(Way.PASS_THROUGH, sievesFiles);
    }
    if (section.isSelectionKnown()) {
      return new ReadingStrategy(Way.SELECTION_KNOWN, sievesFiles);
    }
    return section.maySelect()
            && !section.read().isFiltered()
            && section.read().values() >= MANY_COLUMNS
        ? new ReadingStrategy(Way.KEYS_FIRST, sievesFiles)
        : afterKeys(section);
  }

  /** The choice where a merged row of the section is not one stored row. */
  static ReadingStrategy afterKeys(SectionFacts section) {
    // Every row of an accumulator is needed: only a filter spares some.
    boolean maySpare =
        !section.accumulates() && (section.runs() >= MANY_RUNS || section.isOfFewRows());
    boolean isSieved =
        section.isOfLiveRows()
            && section.read().hasColumnsBesideFilter()
            && (section.read().hasRowFilter() || maySpare);
    return new ReadingStrategy(isSieved ? Way.SIEVE_FIRST : Way.MERGE, false);
  }

  /**
   * The strategy for a section of a read that has not begun.
   *
   * @param read of all tasks
   * @param section as a task gets it
   */
  public static ReadingStrategy expected(ReadFacts read, SectionPlan section) {
    boolean isKnown =
        SectionFacts.maySelect(read, section) && SelectionCache.ofProcess().of(section) != null;
    return of(SectionFacts.of(read, section, isKnown, false));
  }

  @Override
  public String toString() {
    return sievesFiles ? way.words + " with sieve" : way.words;
  }
}
