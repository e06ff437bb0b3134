package io.keylake.spark.read.selection;

import io.keylake.merge.ColumnClass;
import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.tables.planning.KeySlice;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The key that a selection is kept by: all that decides which rows of a section win. Files never
 * change and their names are unique, so equal ones have equal selections, whatever the snapshot.
 *
 * @param leaves those that say which rows have the wanted columns, where a run has them in some
 *     rows only: the rules do not tell columns apart
 */
record SelectionKey(
    List<List<Stored>> runs, MergeRules rules, Set<Integer> leaves, @Nullable KeySlice slice) {

  /** A file, and the version that the manifest says of all of its rows, if it does. */
  record Stored(String location, @Nullable Long version) {}

  static SelectionKey of(SectionPlan section) {
    return new SelectionKey(
        section.runs().stream()
            .map(run -> run.stream().map(SelectionKey::stored).toList())
            .toList(),
        section.merging(),
        leaves(section),
        section.slice());
  }

  private static Set<Integer> leaves(SectionPlan section) {
    Set<Integer> leaves = new HashSet<>();
    for (int c = 0; c < section.classes().size(); c++) {
      if (section.merging().classes().get(c).byRun().contains(Presence.PER_ROW)) {
        leaves.add(section.classes().get(c).leaf());
      }
    }
    return Set.copyOf(leaves);
  }

  /**
   * The same files as a read of columns has them that all rows carry: where it has found which rows
   * win, a read without columns finds them, too.
   */
  SelectionKey withColumns() {
    List<Presence> inAllRows = Collections.nCopies(runs.size(), Presence.ALWAYS);
    return new SelectionKey(
        runs,
        new MergeRules(
            rules.order(),
            rules.written(),
            rules.deleted(),
            List.of(new ColumnClass(inAllRows)),
            MergeRules.Wanted.ROWS),
        leaves,
        slice);
  }

  SelectionKey cutTo(@Nullable KeySlice slice) {
    return new SelectionKey(runs, rules, leaves, slice);
  }

  /** The bytes in memory: names of files, mostly. */
  long bytes() {
    return runs.stream().flatMap(List::stream).mapToLong(file -> file.location().length()).sum();
  }

  private static Stored stored(StoredFile file) {
    return new Stored(file.location(), file.version());
  }
}
