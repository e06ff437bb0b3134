package io.keylake.spark.read.merge;

import io.keylake.merge.Contributions;
import io.keylake.merge.Decisions;
import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.merge.SortedMerge;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.merge.Sieve.Needed;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.roaringbitmap.RoaringBitmap;

/**
 * The merged rows of a section for readers that do not merge:
 *
 * <ol>
 *   <li>A merge of the keys alone finds the stored rows that are merged rows as they stand: all of
 *       its columns come from one row, and that row has no others. They are left where they lie.
 *   <li>All other merged rows are composed: of several rows, or of one of which a tombstone has
 *       removed some values. They come out of a second merge, of their rows alone where that is
 *       enough.
 * </ol>
 */
public final class StandingRows {
  /** Takes a row that is valid until it returns. */
  public interface Sink {
    void accept(InternalRow row) throws IOException;
  }

  private static final int COMPOSED = -2; // no place is below Decisions.NOWHERE

  private final ReadTask task;
  private final SectionPlan section;
  private final DataFiles files;
  private final MergeRules rules;
  private final NeededRows composing;
  private final Set<Integer> counts;
  private final List<List<RoaringBitmap>> standing = new ArrayList<>();
  private final RoaringBitmap composed = new RoaringBitmap();
  private int merged;

  private StandingRows(ReadTask task, SectionPlan section, DataFiles files) {
    this.task = task;
    this.section = section;
    this.files = files;
    this.rules = section.merging();
    this.composing = new NeededRows(task, section, Set.of(), files);
    this.counts = ReadFacts.counts(task.schema());
    for (List<StoredFile> ofRun : section.runs()) {
      standing.add(ofRun.stream().map(file -> new RoaringBitmap()).toList());
    }
  }

  /**
   * @param task of all columns that are shown
   * @param section that is merged, planned for {@code Wanted.ROWS}
   */
  public static StandingRows find(ReadTask task, SectionPlan section, DataFiles files)
      throws IOException {
    StandingRows rows = new StandingRows(task, section, files);
    try (SortedMerge merge =
        new SortedMerge(rows.composing.cursors(), rows.rules, task.batchRows())) {
      for (Decisions next = merge.next(); next.count() > 0; next = merge.next()) {
        rows.note(next);
      }
    }
    return rows;
  }

  /** Stored counts do not say 0 where nothing was counted, so no row stands for itself. */
  public static boolean mayStand(ReadTask task) {
    return ReadFacts.counts(task.schema()).isEmpty();
  }

  /** Positions of the rows that stand for themselves, by the location of the file; for each. */
  public Map<String, RoaringBitmap> byFile() {
    Map<String, RoaringBitmap> byFile = new HashMap<>();
    for (int run = 0; run < standing.size(); run++) {
      List<StoredFile> ofRun = section.runs().get(run);
      for (int file = 0; file < ofRun.size(); file++) {
        byFile.put(ofRun.get(file).location(), standing.get(run).get(file));
      }
    }
    return byFile;
  }

  /** Gives the composed rows, in key order. */
  public void compose(List<Serializable> partition, Sink sink) throws IOException {
    if (composed.isEmpty()) {
      return;
    }
    // A tombstone speaks for rows that are not asked for, so nothing is spared beside one.
    boolean readsAll = rules.deleted().stream().anyMatch(each -> each != Presence.NEVER);
    Needed needed = readsAll ? Needed.ALL : new Needed(composing.byRun());
    int number = 0;
    try (MergeReader reader = new MergeReader(task, section, partition, files, needed, false)) {
      for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
        for (Iterator<InternalRow> rows = batch.rowIterator(); rows.hasNext(); number++) {
          InternalRow row = rows.next();
          if (!readsAll || composed.contains(number)) {
            sink.accept(row);
          }
        }
      }
    }
  }

  private void note(Decisions rows) {
    for (int i = 0; i < rows.count(); i++, merged++) {
      int place = placeOf(rows, i);
      if (place == COMPOSED) {
        composed.add(merged);
        need(rows, i);
      } else {
        int run = Decisions.run(place);
        ColumnarRunCursor cursor = composing.cursors().get(run);
        standing.get(run).get(cursor.file()).add(cursor.position(Decisions.row(place)));
      }
    }
  }

  private void need(Decisions rows, int row) {
    composing.need(rows.keys()[row]);
    for (int c = 0; c < section.classes().size(); c++) {
      Contributions all = rows.contributions(c);
      if (all == null) {
        composing.need(rows.places(c)[row]);
      } else {
        composing.need(all, row);
      }
    }
  }

  /** The place of the stored row that a merged row is, or {@link #COMPOSED}. */
  private int placeOf(Decisions rows, int row) {
    int classes = section.classes().size();
    int place = Decisions.NOWHERE;
    boolean lacksSome = false;
    for (int c = 0; c < classes; c++) {
      int found = placeOf(rows, row, c);
      if (found == Decisions.NOWHERE) {
        lacksSome = true;
      } else if (found == COMPOSED || (place != Decisions.NOWHERE && place != found)) {
        return COMPOSED;
      } else {
        place = found;
      }
    }
    place = place == Decisions.NOWHERE ? rows.keys()[row] : place;
    return lacksSome && hasMore(rows, row, place) ? COMPOSED : place;
  }

  private int placeOf(Decisions rows, int row, int columnClass) {
    Contributions all = rows.contributions(columnClass);
    if (all == null) {
      return rows.places(columnClass)[row];
    }
    int from = all.starts()[row];
    int contributions = all.starts()[row + 1] - from;
    if (contributions == 0) {
      boolean isCount =
          section.classes().get(columnClass).values().stream().anyMatch(counts::contains);
      return isCount ? COMPOSED : Decisions.NOWHERE;
    }
    int only = all.places()[from];
    boolean hasState = !section.states().get(Decisions.run(only)).isEmpty();
    return contributions > 1 || hasState ? COMPOSED : only;
  }

  /** The stored row may have a value of a class of which the merged row has none. */
  private boolean hasMore(Decisions rows, int row, int place) {
    int run = Decisions.run(place);
    for (int c = 0; c < section.classes().size(); c++) {
      boolean isAbsent = placeOf(rows, row, c) == Decisions.NOWHERE;
      if (isAbsent && section.carries(run, c)) {
        return true;
      }
    }
    return false;
  }
}
