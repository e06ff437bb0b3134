package io.keylake.spark.read.merge;

import io.keylake.merge.Decisions;
import io.keylake.merge.SortedMerge;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.selection.KnownSelections;
import io.keylake.spark.read.selection.Selection;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;
import org.roaringbitmap.RoaringBitmapWriter;

/**
 * Settles a section while it is read. Where the order of rows is of no use and each merged row is
 * one stored row, it is enough to know which:
 *
 * <ol>
 *   <li>A read of many columns merges the keys alone, first. The rows that win become a {@link
 *       Selection}, and the files are read one by one, without the others: no value is gathered.
 *   <li>A read of few columns merges as ever, for opening the keys twice would cost more than
 *       gathering does, and notes which rows win as it goes.
 *   <li>Later reads of the same files find the selection, and merge nothing, whatever columns they
 *       want.
 * </ol>
 */
final class SelectedRows {
  /** Value columns that make up for keys that are opened twice. */
  private static final int MANY_COLUMNS = 5;

  private final SectionPlan section;
  private final List<ColumnarRunCursor> cursors;
  private final List<List<RoaringBitmapWriter<RoaringBitmap>>> byRun = new ArrayList<>();
  private boolean areStoredRows = true;

  private SelectedRows(SectionPlan section, List<ColumnarRunCursor> cursors) {
    this.section = section;
    this.cursors = cursors;
    for (List<StoredFile> files : section.runs()) {
      List<RoaringBitmapWriter<RoaringBitmap>> ofRun = new ArrayList<>();
      files.forEach(file -> ofRun.add(RoaringBitmapWriter.writer().get()));
      byRun.add(ofRun);
    }
  }

  /** The rows of a section that are known to win, or are worth finding first; null for neither. */
  static @Nullable Selection before(ReadTask task, SectionPlan section, DataFiles files)
      throws IOException {
    if (!isPossible(task, section)) {
      return null;
    }
    Selection known = KnownSelections.ofProcess().of(section);
    if (known != null || !isWhole(task) || values(task).size() < MANY_COLUMNS) {
      return known;
    }
    List<ColumnarRunCursor> keys = new ArrayList<>();
    for (int run = 0; run < section.runs().size(); run++) {
      keys.add(new ColumnarRunCursor(task, section, run, Set.of(), null, files));
    }
    SelectedRows rows = new SelectedRows(section, keys);
    try (SortedMerge merge = new SortedMerge(keys, section.merging(), task.batchRows())) {
      for (Decisions next = merge.next(); next.count() > 0; next = merge.next()) {
        rows.note(next);
        if (!rows.areStoredRows) {
          return null;
        }
      }
    }
    return rows.keep();
  }

  /** Notes which rows win while a section is merged; null where nothing would come of it. */
  static @Nullable SelectedRows during(
      ReadTask task, SectionPlan section, List<ColumnarRunCursor> cursors) {
    return isPossible(task, section) && isWhole(task) ? new SelectedRows(section, cursors) : null;
  }

  private static boolean isPossible(ReadTask task, SectionPlan section) {
    return !task.isOrdered()
        && section.merging().mayBeStoredRows()
        && section.runs().stream().flatMap(List::stream).allMatch(StoredFile::isWhole);
  }

  /** Whether every row is read: of a part of them, only a part would be known. */
  private static boolean isWhole(ReadTask task) {
    return task.filters().areNone();
  }

  private static Set<Integer> values(ReadTask task) {
    return task.outputIds(OutputColumn.Source.VALUE);
  }

  /** To be called with all decisions, in order, while the batches of the cursors are in place. */
  void note(Decisions rows) {
    int[] places = section.classes().isEmpty() ? rows.keys() : rows.places(0);
    for (int i = 0; i < rows.count() && areStoredRows; i++) {
      int place = places[i];
      if (place == Decisions.NOWHERE) {
        areStoredRows = false; // the row is there, but none of its stored rows has the columns
      } else {
        int run = Decisions.run(place);
        ColumnarRunCursor cursor = cursors.get(run);
        byRun.get(run).get(cursor.file()).add(cursor.position(Decisions.row(place)));
      }
    }
  }

  /** Keeps what was noted for later reads; to be called when the section has ended. */
  @Nullable Selection keep() {
    if (!areStoredRows) {
      return null;
    }
    Map<String, RoaringBitmap> byFile = new HashMap<>();
    for (int run = 0; run < byRun.size(); run++) {
      List<StoredFile> files = section.runs().get(run);
      for (int file = 0; file < files.size(); file++) {
        RoaringBitmap rows = byRun.get(run).get(file).get();
        rows.runOptimize();
        byFile.put(files.get(file).location(), rows);
      }
    }
    Selection found = new Selection(byFile);
    KnownSelections.ofProcess().keep(section, found);
    return found;
  }
}
