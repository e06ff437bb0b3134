package io.keylake.spark.read.merge;

import io.keylake.merge.ColumnClass.Takes;
import io.keylake.merge.Contributions;
import io.keylake.merge.Decisions;
import io.keylake.merge.SortedMerge;
import io.keylake.spark.engine.ConstantVector;
import io.keylake.spark.keys.LookupKey;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.spark.vectors.PickedVector;
import io.keylake.tables.planning.SectionPlan;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatchRow;
import org.jspecify.annotations.Nullable;

/**
 * The rows that the files of a section store of one key, and what the merge makes of them:
 *
 * <ol>
 *   <li>Each run is searched for the key, and shows the merge that row alone.
 *   <li>The decisions of the merge say whether the row is visible, and which stored values count.
 *   <li>These are looked up, or combined, as for any merged row.
 * </ol>
 *
 * @param rows oldest first, in the order in which the later one wins at equal versions
 * @param reset the latest row with a tombstone, before which no contribution to an accumulator
 *     counts; null for none
 * @param counted for each column, by field id, the rows whose values count
 * @param merged the values of the merged row; null where it is not visible
 * @param withoutPlace columns whose contributions make a value that has no place in their type
 */
public record KeyVersions(
    List<StoredVersion> rows,
    @Nullable StoredVersion reset,
    Map<Integer, List<StoredVersion>> counted,
    @Nullable InternalRow merged,
    Set<Integer> withoutPlace) {

  /** The versions of a key that no file has. */
  public static final KeyVersions NONE = new KeyVersions(List.of(), null, Map.of(), null, Set.of());

  /** A write is newer than the newest tombstone. */
  public boolean isVisible() {
    return merged != null;
  }

  /**
   * Reads a section.
   *
   * @param section planned for {@code Wanted.HISTORY}, whose stamps say the version of each value
   */
  public static KeyVersions find(FileIO io, ReadTask task, SectionPlan section, LookupKey key)
      throws IOException {
    DataFiles files = new DataFiles(io, new ReadCounters());
    List<KeyRun> runs = new ArrayList<>();
    for (int run = 0; run < section.runs().size(); run++) {
      Set<Integer> values = task.outputIds(OutputColumn.Source.VALUE);
      runs.add(
          new KeyRun(new ColumnarRunCursor(task, section, run, values, null, files), task, key));
    }
    try (SortedMerge merge = new SortedMerge(runs, section.merging(), 1)) {
      Decisions decisions = merge.next();
      return decisions.count() == 0
          ? NONE
          : new KeyDecision(task, section, runs, decisions).versions();
    }
  }

  /** The one decision of a merge whose runs are at their rows of the key. */
  private record KeyDecision(
      ReadTask task, SectionPlan section, List<KeyRun> runs, Decisions decisions) {

    KeyVersions versions() {
      List<@Nullable StoredVersion> byRun = new ArrayList<>();
      for (int run = 0; run < runs.size(); run++) {
        byRun.add(runs.get(run).row(section, run));
      }
      Map<Integer, List<StoredVersion>> counted = new HashMap<>();
      for (OutputColumn column : task.output()) {
        if (column.source() == OutputColumn.Source.VALUE) {
          int[] places = places(section.classOf(column.fieldId()));
          counted.put(
              column.fieldId(), Arrays.stream(places).mapToObj(at -> row(byRun, at)).toList());
        }
      }
      boolean accumulates =
          section.merging().classes().stream().anyMatch(c -> c.takes() != Takes.NEWEST);
      int reset = accumulates ? decisions.resets()[0] : Decisions.NOWHERE;
      Set<Integer> withoutPlace = new HashSet<>();
      InternalRow merged = decisions.written().isSet(0) ? merged(withoutPlace) : null;
      return new KeyVersions(
          byRun.stream().filter(Objects::nonNull).toList(),
          reset == Decisions.NOWHERE ? null : row(byRun, reset),
          counted,
          merged,
          withoutPlace);
    }

    private static StoredVersion row(List<@Nullable StoredVersion> byRun, int place) {
      return Objects.requireNonNull(byRun.get(Decisions.run(place)), "places are of found rows");
    }

    private int[] places(int columnClass) {
      Contributions all = decisions.contributions(columnClass);
      if (all != null) {
        return Arrays.copyOfRange(all.places(), all.starts()[0], all.starts()[1]);
      }
      int place = decisions.places(columnClass)[0];
      return place == Decisions.NOWHERE ? new int[0] : new int[] {place};
    }

    private InternalRow merged(Set<Integer> withoutPlace) {
      List<ColumnarRunCursor> cursors = runs.stream().map(KeyRun::cursor).toList();
      ColumnVector[] vectors = new ColumnVector[task.output().size()];
      for (int i = 0; i < vectors.length; i++) {
        OutputColumn column = task.output().get(i);
        ColumnVector[] sources = MergeReader.sources(cursors, column);
        if (column.source() == OutputColumn.Source.KEY) {
          vectors[i] = new PickedVector(column.type(), sources, decisions.keys());
        } else if (section.takes(column.fieldId()) == Takes.ALL) {
          vectors[i] = combined(column, sources, cursors, withoutPlace);
        } else {
          int[] places = decisions.places(section.classOf(column.fieldId()));
          vectors[i] = new PickedVector(column.type(), sources, places);
        }
      }
      InternalRow row = new ColumnarBatchRow(vectors);
      return UnsafeProjection.create(task.outputTypes()).apply(row).copy();
    }

    private ColumnVector combined(
        OutputColumn column,
        ColumnVector[] sources,
        List<ColumnarRunCursor> cursors,
        Set<Integer> withoutPlace) {
      CombinedColumn all = CombinedColumn.of(task.schema(), column, false);
      Contributions contributions =
          Objects.requireNonNull(
              decisions.contributions(section.classOf(column.fieldId())), "a class that takes all");
      all.combine(sources, all.states(cursors), contributions, 1, new boolean[0]);
      if (!all.withoutValue().isEmpty()) {
        withoutPlace.add(column.fieldId());
        return ConstantVector.ofNulls(column.type(), 1);
      }
      return all.values();
    }
  }
}
