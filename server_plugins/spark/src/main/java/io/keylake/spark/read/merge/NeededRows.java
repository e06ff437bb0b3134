package io.keylake.spark.read.merge;

import io.keylake.merge.Contributions;
import io.keylake.merge.Decisions;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.roaringbitmap.RoaringBitmap;

/** The runs of a section as a first merge walks them, and which of their rows it found needed. */
final class NeededRows {
  private final List<ColumnarRunCursor> cursors = new ArrayList<>();
  private final List<List<RoaringBitmap>> byRun = new ArrayList<>();

  /**
   * @param values which of the wanted value columns to open
   */
  NeededRows(ReadTask task, SectionPlan section, Set<Integer> values, DataFiles files) {
    for (int run = 0; run < section.runs().size(); run++) {
      cursors.add(new ColumnarRunCursor(task, section, run, values, null, files));
      List<RoaringBitmap> ofRun = new ArrayList<>();
      section.runs().get(run).forEach(file -> ofRun.add(new RoaringBitmap()));
      byRun.add(ofRun);
    }
  }

  List<ColumnarRunCursor> cursors() {
    return cursors;
  }

  /** The numbers of the needed rows among those that are read, for each run and file. */
  List<List<RoaringBitmap>> byRun() {
    return byRun;
  }

  /** Notes the rows of all contributions to a merged row. */
  void need(Contributions all, int merged) {
    for (int i = all.starts()[merged]; i < all.starts()[merged + 1]; i++) {
      need(all.places()[i]);
    }
  }

  /** Notes the row at a place of the batches that the cursors are at. */
  void need(int place) {
    if (place != Decisions.NOWHERE) {
      int run = Decisions.run(place);
      ColumnarRunCursor cursor = cursors.get(run);
      byRun.get(run).get(cursor.file()).add(cursor.firstNumber() + Decisions.row(place));
    }
  }
}
