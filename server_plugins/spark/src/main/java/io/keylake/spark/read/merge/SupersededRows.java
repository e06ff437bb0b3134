package io.keylake.spark.read.merge;

import io.keylake.merge.ColumnClass.Takes;
import io.keylake.merge.Contributions;
import io.keylake.merge.Decisions;
import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.merge.SortedMerge;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.spark.read.selection.Selection;
import io.keylake.spark.read.selection.SelectionCache;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.io.FileIO;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/**
 * Finds the rows of a section that no read needs any more, without opening a value:
 *
 * <ol>
 *   <li>Merge the keys, with the versions and leaves where they decide. Rows and tombstones count
 *       as columns of their own.
 *   <li>A row is needed where it holds the newest of something; all others are superseded, for
 *       ever: what comes later only makes more rows lose. Of an accumulator, every contribution is
 *       needed that no later commit has reset, and the tombstone that has reset the others.
 *   <li>A key that has several needed rows is not unique, unless all but one are mere tombstones,
 *       which reads leave out. Neither is one of which a tombstone elsewhere has removed some
 *       values: alone, its row would give them.
 * </ol>
 */
public final class SupersededRows {
  private final SectionPlan section;
  private final MergeRules rules;
  private final NeededRows needed;
  private final int writes; // the class of the rows themselves
  private final boolean accumulates;
  private boolean isUnique = true;

  /**
   * The superseded rows of a section.
   *
   * @param byFile positions of superseded rows, by the location of the file; for each file
   * @param isUnique whether each visible key has one row left
   */
  public record RowsByFile(Map<String, RoaringBitmap> byFile, boolean isUnique) {}

  private SupersededRows(ReadTask task, SectionPlan section, DataFiles files) {
    this.section = section;
    this.rules = section.merging();
    this.writes = section.classOfLeaf(task.schema().written().fieldId());
    this.accumulates = rules.classes().stream().anyMatch(c -> c.takes() != Takes.NEWEST);
    this.needed = new NeededRows(task, section, Set.of(), files);
  }

  /**
   * Looks through a section, or asks what reads have found in this process: of whole rows, those
   * that no read gives are those that are superseded.
   *
   * @param section planned for {@code Wanted.ROWS_AND_TOMBSTONES}
   */
  public static RowsByFile find(FileIO io, KeyedSchema schema, SectionPlan section)
      throws IOException {
    Selection known = SelectionCache.ofProcess().ofWholeRows(section);
    if (known != null) {
      return new RowsByFile(others(section, known), true);
    }
    ReadTask task = ReadTask.unfiltered(schema, List.of());
    DataFiles files = new DataFiles(io, new ReadCounters());
    SupersededRows rows = new SupersededRows(task, section, files);
    try (SortedMerge merge = new SortedMerge(rows.needed.cursors(), rows.rules, task.batchRows())) {
      return rows.find(merge);
    }
  }

  /** The rows that reads leave out. */
  private static Map<String, RoaringBitmap> others(SectionPlan section, Selection known) {
    Map<String, RoaringBitmap> others = new HashMap<>();
    section.runs().stream()
        .flatMap(List::stream)
        .forEach(file -> others.put(file.location(), known.others(file)));
    return others;
  }

  private RowsByFile find(SortedMerge merge) throws IOException {
    int classes = section.classes().size();
    for (Decisions keys = merge.next(); keys.count() > 0; keys = merge.next()) {
      for (int i = 0; i < keys.count(); i++) {
        int row = keys.places(writes)[i];
        for (int c = 0; c < classes; c++) {
          if (takes(c) == Takes.ALL) {
            needContributions(c, keys.contributions(c), i, row);
          } else {
            need(c, keys.places(c)[i], row);
          }
        }
        if (accumulates) {
          int reset = keys.resets()[i];
          needed.need(reset);
          isUnique &= reset == Decisions.NOWHERE || reset == row || isTombstone(reset);
        }
      }
    }
    Map<String, RoaringBitmap> superseded = new HashMap<>();
    for (int run = 0; run < needed.byRun().size(); run++) {
      List<StoredFile> files = section.runs().get(run);
      for (int file = 0; file < files.size(); file++) {
        superseded.put(
            files.get(file).location(),
            RoaringBitmap.flip(needed.byRun().get(run).get(file), 0L, files.get(file).rows()));
      }
    }
    return new RowsByFile(superseded, isUnique);
  }

  private Takes takes(int columnClass) {
    return rules.classes().get(columnClass).takes();
  }

  private void need(int columnClass, int place, int row) {
    if (place != Decisions.NOWHERE) {
      needed.need(place);
      boolean mayStandApart = takes(columnClass) == Takes.NEWEST && isTombstone(place);
      isUnique &= place == row || mayStandApart;
    } else {
      isUnique &= row == Decisions.NOWHERE || !carries(columnClass, row);
    }
  }

  private void needContributions(
      int columnClass, @Nullable Contributions contributions, int merged, int row) {
    Contributions all = Objects.requireNonNull(contributions, "a class that takes all");
    int from = all.starts()[merged];
    int to = all.starts()[merged + 1];
    needed.need(all, merged);
    for (int i = from; i < to; i++) {
      isUnique &= all.places()[i] == row;
    }
    isUnique &= from < to || row == Decisions.NOWHERE || !carries(columnClass, row);
  }

  private boolean carries(int columnClass, int place) {
    int run = Decisions.run(place);
    Presence presence = rules.classes().get(columnClass).byRun().get(run);
    return presence == Presence.ALWAYS
        || (presence == Presence.PER_ROW
            && needed.cursors().get(run).columns(columnClass).isSet(Decisions.row(place)));
  }

  /** No write of the row is left, even if it stands alone. */
  private boolean isTombstone(int place) {
    int run = Decisions.run(place);
    Presence written = rules.written().get(run);
    return written == Presence.NEVER
        || (written == Presence.PER_ROW
            && !needed.cursors().get(run).written().isSet(Decisions.row(place)));
  }
}
