package io.keylake.spark.read.merge;

import io.keylake.merge.Contributions;
import io.keylake.merge.Decisions;
import io.keylake.merge.SortedMerge;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileColumns;
import io.keylake.spark.parquet.RowChoice;
import io.keylake.spark.parquet.StoredFileReader;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/**
 * Finds the stored rows that can matter to a merged read, before their values are opened.
 *
 * <ol>
 *   <li>Merge once with the keys alone, and the columns that the query filters by.
 *   <li>A row is needed where it holds the key or a value of a merged row that passes the filter.
 *       Without the rows that are not, a second merge comes to the same rows: what won still wins,
 *       and what lost is not asked.
 *   <li>Give up as soon as it shows that most rows are needed: then one pass is cheaper than two.
 * </ol>
 *
 * <p>Where rows are the answer as they stand, one file after the other is sifted by the columns
 * that the query filters by.
 *
 * <p>A tombstone speaks for rows that are not there any more, so sections with tombstones are not
 * sifted.
 */
final class Sieve {
  /** Merged rows after which the shares are looked at for the first time. */
  private static final int TRIAL_ROWS = 8 * 1024;

  /**
   * The largest share of rows that pass a filter. Of more, skipping the others costs more than
   * reading.
   */
  private static final double MOST_PASSING = 0.25;

  /** The share of a run below which its rows are spared where there is no filter, ... */
  private static final double MOST_OF_A_RUN = 0.1;

  /** ... if these runs hold at least this share of all rows. */
  private static final double LEAST_SPARED = 0.2;

  private final SectionPlan section;
  private final NeededRows needed;
  private final @Nullable RowFilter filter;
  private long merged;
  private long passed;

  /**
   * The rows to read.
   *
   * @param byRun for each run and file, numbers of the rows to read; null for all of a file, of a
   *     run, or of the section
   */
  record Needed(@Nullable List<List<RoaringBitmap>> byRun) {
    static final Needed ALL = new Needed(null);

    boolean isAll() {
      return byRun == null;
    }

    @Nullable List<RoaringBitmap> ofRun(int run) {
      return byRun == null ? null : byRun.get(run);
    }
  }

  private Sieve(ReadTask task, SectionPlan section, @Nullable RowFilter filter, DataFiles files) {
    this.section = section;
    this.filter = filter;
    Set<Integer> values = filter == null ? Set.of() : new HashSet<>(filter.columns());
    this.needed = new NeededRows(task, section, values, files);
  }

  /** The rows of a section that a merge has to read; all of them where that spares too few. */
  static Needed sift(ReadTask task, SectionPlan section, DataFiles files) throws IOException {
    Sieve sieve = new Sieve(task, section, RowFilter.of(task), files);
    try (SortedMerge merge =
        new SortedMerge(sieve.needed.cursors(), section.merging(), task.batchRows())) {
      return sieve.sift(merge);
    }
  }

  /**
   * The rows of one file that pass the filter of a task, where they are the answer as they stand;
   * null where there is no filter, or where most rows pass it.
   *
   * @param shown positions of the rows that may be shown; null for all of them
   */
  static @Nullable RoaringBitmap passing(
      ReadTask task,
      RowChoice choice,
      StoredFile file,
      @Nullable RoaringBitmap shown,
      DataFiles files)
      throws IOException {
    RowFilter filter = RowFilter.of(task);
    if (filter == null) {
      return null;
    }
    FileColumns columns = FileColumns.of(filter.fields(), task.schema(), Set.of());
    int batchRows = DataFiles.fittingRows(List.of(file), 1, task.batchRows());
    StoredFileReader.Reading reading =
        new StoredFileReader.Reading(columns, choice, batchRows, DataFiles.bytesEach(1));
    RoaringBitmap passing = new RoaringBitmap();
    long[] positions = new long[batchRows];
    long tested = 0;
    long passed = 0;
    try (StoredFileReader reader = new StoredFileReader(files, file, reading, null, null)) {
      for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
        filter.show(batch, columns);
        boolean[] passes = filter.passing(batch.numRows());
        reader.positions(positions);
        for (int i = 0; i < batch.numRows(); i++) {
          int position = (int) positions[i];
          if (passes[i] && (shown == null || shown.contains(position))) {
            passing.add(position);
            passed++;
          }
        }
        tested += batch.numRows();
        if (tested >= TRIAL_ROWS && passed > MOST_PASSING * tested) {
          return null;
        }
      }
    }
    return passed > MOST_PASSING * tested ? null : passing;
  }

  private Needed sift(SortedMerge merge) throws IOException {
    long nextTrial = TRIAL_ROWS;
    for (Decisions rows = merge.next(); rows.count() > 0; rows = merge.next()) {
      boolean[] passes = null;
      if (filter != null) {
        filter.show(needed.cursors(), section, rows);
        passes = filter.passing(rows.count());
      }
      for (int i = 0; i < rows.count(); i++) {
        if (passes == null || passes[i]) {
          passed++;
          needed.need(rows.keys()[i]);
          for (int c = 0; c < section.classes().size(); c++) {
            need(rows, c, i);
          }
        }
      }
      merged += rows.count();
      if (merged >= nextTrial) {
        if (!pays()) {
          return Needed.ALL;
        }
        nextTrial = 2 * merged;
      }
    }
    return !pays() ? Needed.ALL : filter == null ? withoutDenseFiles() : new Needed(needed.byRun());
  }

  private void need(Decisions rows, int columnClass, int merged) {
    Contributions all = rows.contributions(columnClass);
    if (all == null) {
      needed.need(rows.places(columnClass)[merged]);
    } else {
      needed.need(all, merged);
    }
  }

  private boolean pays() {
    if (section.slice() != null && section.slice().isOneValue()) {
      return true; // of whole pages
    }
    if (filter != null) {
      return passed <= MOST_PASSING * merged;
    }
    long all = 0;
    long spared = 0;
    for (int run = 0; run < needed.byRun().size(); run++) {
      long read = needed.cursors().get(run).rowsRead();
      long kept =
          needed.byRun().get(run).stream().mapToLong(RoaringBitmap::getLongCardinality).sum();
      all += read;
      spared += kept < MOST_OF_A_RUN * read ? read - kept : 0;
    }
    return spared >= LEAST_SPARED * all;
  }

  /** Rows that lost are harmless beside those that won, and reading all of them is faster. */
  private Needed withoutDenseFiles() {
    List<List<RoaringBitmap>> sparse = new ArrayList<>();
    for (int run = 0; run < needed.byRun().size(); run++) {
      List<RoaringBitmap> ofRun = new ArrayList<>();
      for (int file = 0; file < needed.byRun().get(run).size(); file++) {
        RoaringBitmap rows = needed.byRun().get(run).get(file);
        long all = section.runs().get(run).get(file).rows();
        ofRun.add(rows.getLongCardinality() < MOST_OF_A_RUN * all ? rows : null);
      }
      sparse.add(ofRun);
    }
    return new Needed(sparse);
  }
}
