package io.keylake.spark.read.merge;

import io.keylake.merge.Decisions;
import io.keylake.merge.SortedMerge;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.selection.Selection;
import io.keylake.spark.read.selection.SelectionCache;
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
 * Notes which stored rows of a section win while it is merged, and keeps that as a {@link
 * Selection} for later reads. They merge nothing, whatever columns they want:
 *
 * <ol>
 *   <li>A read of many columns merges the keys alone, first, and reads the files one by one,
 *       without the other rows: no value is gathered.
 *   <li>A read of few columns merges them with the keys, for opening the keys twice would cost more
 *       than gathering does, and notes the rows on the way.
 * </ol>
 */
final class SelectedRows {
  private final SectionPlan section;
  private final List<ColumnarRunCursor> cursors;
  private final List<List<RoaringBitmapWriter<RoaringBitmap>>> byRun = new ArrayList<>();
  private boolean areStoredRows = true;

  SelectedRows(SectionPlan section, List<ColumnarRunCursor> cursors) {
    this.section = section;
    this.cursors = cursors;
    for (List<StoredFile> files : section.runs()) {
      List<RoaringBitmapWriter<RoaringBitmap>> ofRun = new ArrayList<>();
      files.forEach(file -> ofRun.add(RoaringBitmapWriter.writer().get()));
      byRun.add(ofRun);
    }
  }

  /**
   * Merges the keys of a section alone and keeps the rows that win; null where a merged row is not
   * one stored row.
   */
  static @Nullable Selection find(ReadTask task, SectionPlan section, DataFiles files)
      throws IOException {
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

  /**
   * Notes the rows that win by some decisions. Callers hand in all decisions, in order, while the
   * batches of the cursors are in place.
   */
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
    SelectionCache.ofProcess().keep(section, found);
    return found;
  }
}
