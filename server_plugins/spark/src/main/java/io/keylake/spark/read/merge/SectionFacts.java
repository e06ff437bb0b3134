package io.keylake.spark.read.merge;

import io.keylake.merge.ColumnClass.Takes;
import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.util.List;

/**
 * The facts that a {@link ReadingStrategy} is chosen by: the plan of a section, the read, and what
 * this process knows.
 *
 * @param isPassedThrough whether the plan gives the rows of one run as they stand
 * @param runs how many runs the section has
 * @param maySelect whether each merged row may be one stored row, in any order
 * @param isSelectionKnown whether an earlier read has found which stored rows win
 * @param isOfLiveRows whether the read gives rows without stamps, and no run has tombstones
 * @param accumulates whether a wanted column takes all contributions
 * @param isOfFewRows whether few rows of files are read, of which each costs a page
 */
record SectionFacts(
    ReadFacts read,
    boolean isPassedThrough,
    int runs,
    boolean maySelect,
    boolean isSelectionKnown,
    boolean isOfLiveRows,
    boolean accumulates,
    boolean isOfFewRows) {

  static SectionFacts of(
      ReadFacts read, SectionPlan section, boolean isSelectionKnown, boolean isOfFewRows) {
    if (section.passedThrough()) {
      return new SectionFacts(read, true, 1, false, false, true, false, isOfFewRows);
    }
    MergeRules rules = section.merging();
    return new SectionFacts(
        read,
        false,
        section.runs().size(),
        maySelect(read, section),
        isSelectionKnown,
        rules.wanted() == MergeRules.Wanted.ROWS
            && rules.deleted().stream().allMatch(presence -> presence == Presence.NEVER),
        rules.classes().stream().anyMatch(of -> of.takes() == Takes.ALL),
        isOfFewRows);
  }

  /**
   * A selection can say all of a section: each merged row may be one stored row, none of which is
   * left out, and their order is of no use.
   */
  static boolean maySelect(ReadFacts read, SectionPlan section) {
    return !section.passedThrough()
        && !read.isOrdered()
        && section.merging().mayBeStoredRows()
        && section.runs().stream().flatMap(List::stream).allMatch(StoredFile::isWhole);
  }

  /** A merge of all rows is to note which stored rows win, for later reads. */
  boolean notesSelection() {
    return maySelect && !read.isFiltered();
  }
}
