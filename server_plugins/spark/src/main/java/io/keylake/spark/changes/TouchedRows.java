package io.keylake.spark.changes;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.ChangePlan.Stretch;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DeleteFile;
import org.roaringbitmap.RoaringBitmap;

/**
 * Finds, in the files of a stretch, the rows whose key was written in the range of a change feed,
 * where these are few:
 *
 * <ol>
 *   <li>The keys of the files that the range has touched are kept.
 *   <li>The keys of the other files are read, once, and looked for there.
 *   <li>A key that is taken by mistake does no harm: all of its rows are read, before and after,
 *       and come out equal. Nor do small files that are read whole, if nothing was merged or
 *       settled in between: of a key that was not written, the same rows are read before and after.
 * </ol>
 */
final class TouchedRows {
  /**
   * The largest share of the rows of a stretch. Beyond that, skipping among them costs more than
   * reading.
   */
  private static final double MOST_TOUCHED = 0.1;

  /** Rows of a file; one that has fewer is read faster than opened twice. */
  private static final int FEW_ROWS = 16 * 1024;

  private TouchedRows() {}

  /**
   * The positions of the rows, by the locations of the files that are not touched themselves; empty
   * where it is not worth it, so that all rows are read.
   */
  static Map<String, RoaringBitmap> find(ReadTask task, Stretch stretch, DataFiles files)
      throws IOException {
    Map<String, StoredFile> before = files(stretch.before(), stretch.touching());
    Map<String, StoredFile> after = files(stretch.after(), stretch.touching());
    boolean isAsBefore = facts(before).equals(facts(after));
    Map<String, StoredFile> others = new LinkedHashMap<>(before);
    others.putAll(after);
    long touched = TouchedKeys.rows(stretch.touching());
    if (touched > MOST_TOUCHED * TouchedKeys.rows(List.copyOf(others.values()))) {
      return Map.of();
    }
    TouchedKeys keys = TouchedKeys.of(task.schema(), stretch.touching(), files);
    Map<String, RoaringBitmap> found = new HashMap<>();
    for (StoredFile file : others.values()) {
      if (!isAsBefore || file.rows() >= FEW_ROWS) {
        found.put(file.location(), keys.rowsIn(file));
      }
    }
    return found;
  }

  /** The files by their locations, without those that are touched. */
  private static Map<String, StoredFile> files(
      List<SectionPlan> sections, List<StoredFile> touching) {
    Map<String, StoredFile> found = new LinkedHashMap<>();
    sections.stream()
        .flatMap(section -> section.runs().stream().flatMap(List::stream))
        .forEach(file -> found.put(file.location(), file));
    touching.forEach(file -> found.remove(file.location()));
    return found;
  }

  /** The locations of the files, each with those of the files that name its superseded rows. */
  private static Map<String, Set<String>> facts(Map<String, StoredFile> files) {
    Map<String, Set<String>> facts = new HashMap<>();
    files.forEach(
        (location, file) ->
            facts.put(
                location,
                file.superseded().stream().map(DeleteFile::location).collect(Collectors.toSet())));
    return facts;
  }
}
