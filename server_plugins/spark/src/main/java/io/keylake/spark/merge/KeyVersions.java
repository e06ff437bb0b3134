package io.keylake.spark.merge;

import io.keylake.merge.ColumnClass.Takes;
import io.keylake.merge.Contributions;
import io.keylake.merge.Decisions;
import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.merge.RunCursor;
import io.keylake.merge.SortedMerge;
import io.keylake.merge.Stamps;
import io.keylake.spark.engine.ConstantVector;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.tables.planning.SectionPlan;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatchRow;
import org.jspecify.annotations.Nullable;

/**
 * What the files of a section store of one key, and which of it the merge lets count:
 *
 * <ol>
 *   <li>Look for the key in each run, and keep its row.
 *   <li>Give these rows to the merge, as runs of one row at most.
 *   <li>Its decisions say whether the row is visible, and where the value of each column lies.
 * </ol>
 *
 * @param rows oldest first, in the order in which the later one wins at equal versions
 * @param isVisible whether a write is newer than the newest tombstone
 * @param reset the latest row with a tombstone, before which no contribution to an accumulator
 *     counts; null for none
 * @param counted for each column, by field id, the rows whose values count
 */
public record KeyVersions(
    List<StoredVersion> rows,
    boolean isVisible,
    @Nullable StoredVersion reset,
    Map<Integer, List<StoredVersion>> counted) {

  /** Of a key that no file has. */
  public static final KeyVersions NONE = new KeyVersions(List.of(), false, null, Map.of());

  /**
   * Reads a section.
   *
   * @param section planned for {@code Wanted.HISTORY}, whose stamps say the version of each value
   */
  public static KeyVersions find(FileIO io, ReadTask task, SectionPlan section, SoughtKey key)
      throws IOException {
    DataFiles files = new DataFiles(io, new ReadCounters());
    try {
      List<FoundRun> runs = new ArrayList<>();
      for (int run = 0; run < section.runs().size(); run++) {
        try (ColumnarRunCursor cursor =
            new ColumnarRunCursor(
                task, section, run, task.outputIds(OutputColumn.Source.VALUE), null, files)) {
          runs.add(FoundRun.of(cursor, task, section, run, key));
        }
      }
      return decided(runs, task, section);
    } finally {
      files.forgetFooters();
    }
  }

  private static KeyVersions decided(List<FoundRun> runs, ReadTask task, SectionPlan section)
      throws IOException {
    List<StoredVersion> rows = new ArrayList<>();
    runs.stream().map(run -> run.row).filter(Objects::nonNull).forEach(rows::add);
    try (SortedMerge merge = new SortedMerge(runs, section.merging(), 1)) {
      Decisions decisions = merge.next();
      if (decisions.count() == 0) {
        return NONE;
      }
      Map<Integer, List<StoredVersion>> counted = new HashMap<>();
      for (OutputColumn column : task.output()) {
        if (column.source() == OutputColumn.Source.VALUE) {
          int columnClass = section.classOf(column.fieldId());
          List<StoredVersion> at = new ArrayList<>();
          for (int place : places(decisions, columnClass)) {
            at.add(row(runs, place));
          }
          counted.put(column.fieldId(), List.copyOf(at));
        }
      }
      boolean accumulates =
          section.merging().classes().stream().anyMatch(c -> c.takes() != Takes.NEWEST);
      int reset = accumulates ? decisions.resets()[0] : Decisions.NOWHERE;
      return new KeyVersions(
          List.copyOf(rows),
          decisions.written().isSet(0),
          reset == Decisions.NOWHERE ? null : row(runs, reset),
          counted);
    }
  }

  private static int[] places(Decisions decisions, int columnClass) {
    Contributions all = decisions.contributions(columnClass);
    if (all != null) {
      int[] places = new int[all.starts()[1] - all.starts()[0]];
      System.arraycopy(all.places(), all.starts()[0], places, 0, places.length);
      return places;
    }
    int place = decisions.places(columnClass)[0];
    return place == Decisions.NOWHERE ? new int[0] : new int[] {place};
  }

  private static StoredVersion row(List<FoundRun> runs, int place) {
    return Objects.requireNonNull(runs.get(Decisions.run(place)).row, "places are of found rows");
  }

  /** The row of the key in one run, if the run has it, as a run of its own. */
  private static final class FoundRun extends RunCursor {
    private final @Nullable StoredVersion row;
    private final Stamps versions = new Stamps(1);
    private final Stamps written = new Stamps(1);
    private final Stamps deleted = new Stamps(1);
    private final Stamps[] classes;
    private boolean isShown;

    /**
     * @param position of the row in the batch that the cursor is at; -1 for none
     */
    private FoundRun(
        ColumnarRunCursor cursor, ReadTask task, SectionPlan section, int run, int position) {
      MergeRules rules = section.merging();
      this.classes = new Stamps[rules.classes().size()];
      for (int c = 0; c < classes.length; c++) {
        classes[c] = new Stamps(1);
      }
      if (position < 0) {
        this.row = null;
        return;
      }
      versions.set(0, cursor.versions().at(position));
      copy(rules.written().get(run), cursor.versions(), cursor.written(), position, written);
      copy(rules.deleted().get(run), cursor.versions(), cursor.deleted(), position, deleted);
      Map<Integer, Long> carried = new HashMap<>();
      for (int c = 0; c < classes.length; c++) {
        Presence presence = rules.classes().get(c).byRun().get(run);
        copy(presence, cursor.versions(), cursor.columns(c), position, classes[c]);
        if (classes[c].isSet(0)) {
          long version = classes[c].at(0);
          section.classes().get(c).values().forEach(value -> carried.put(value, version));
        }
      }
      this.row =
          new StoredVersion(
              section.runs().get(run).get(cursor.file()).location(),
              run,
              UnsafeProjection.create(task.outputTypes()).apply(at(cursor, task, position)).copy(),
              written.isSet(0) ? Long.valueOf(written.at(0)) : null,
              deleted.isSet(0) ? Long.valueOf(deleted.at(0)) : null,
              Map.copyOf(carried));
    }

    static FoundRun of(
        ColumnarRunCursor cursor, ReadTask task, SectionPlan section, int run, SoughtKey key)
        throws IOException {
      for (int rows = cursor.load(); rows > 0; rows = cursor.load()) {
        int position =
            key.rowIn(
                column ->
                    MergedReader.sources(
                        List.of(cursor), task.output().get(task.position(column.fieldId())))[0],
                rows);
        if (position >= 0) {
          return new FoundRun(cursor, task, section, run, position);
        }
      }
      return new FoundRun(cursor, task, section, run, -1);
    }

    private static void copy(
        Presence presence, Stamps versions, Stamps own, int position, Stamps into) {
      if (presence == Presence.ALWAYS) {
        into.set(0, versions.at(position));
      } else if (presence == Presence.PER_ROW && own.isSet(position)) {
        into.set(0, own.at(position));
      }
    }

    private static ColumnarBatchRow at(ColumnarRunCursor cursor, ReadTask task, int position) {
      ColumnVector[] vectors =
          task.output().stream()
              .map(column -> vector(cursor, column, position + 1))
              .toArray(ColumnVector[]::new);
      ColumnarBatchRow row = new ColumnarBatchRow(vectors);
      row.rowId = position;
      return row;
    }

    private static ColumnVector vector(ColumnarRunCursor cursor, OutputColumn column, int rows) {
      ColumnVector stored = MergedReader.sources(List.of(cursor), column)[0];
      return stored == null ? ConstantVector.ofNulls(column.type(), rows) : stored;
    }

    @Override
    protected int load() {
      if (isShown || row == null) {
        return 0;
      }
      isShown = true;
      show(new long[1]);
      return 1;
    }

    @Override
    protected int compareTied(int own, RunCursor other, int otherRow) {
      return 0;
    }

    @Override
    protected boolean isExact() {
      return true; // all runs have one key
    }

    @Override
    public Stamps versions() {
      return versions;
    }

    @Override
    public Stamps written() {
      return written;
    }

    @Override
    public Stamps deleted() {
      return deleted;
    }

    @Override
    public Stamps columns(int columnClass) {
      return classes[columnClass];
    }

    @Override
    public void close() {}
  }
}
