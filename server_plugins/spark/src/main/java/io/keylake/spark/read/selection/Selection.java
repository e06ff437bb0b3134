package io.keylake.spark.read.selection;

import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.util.HashMap;
import java.util.Map;
import org.roaringbitmap.RoaringBitmap;

/**
 * The stored rows that are the merged rows of a section, where each merged row is one stored row as
 * it stands. Files are then read one by one, without their other rows, and nothing is merged.
 *
 * @param byFile positions of the rows, by the location of the file; for each file
 */
public record Selection(Map<String, RoaringBitmap> byFile) {
  public Selection {
    byFile = Map.copyOf(byFile);
  }

  /** The rows of a file that do not win: all of them where it has none that does. */
  public RoaringBitmap others(StoredFile file) {
    RoaringBitmap rows = byFile.getOrDefault(file.location(), new RoaringBitmap());
    return RoaringBitmap.flip(rows, 0L, file.rows());
  }

  /** The rows of both. */
  Selection and(Selection other) {
    Map<String, RoaringBitmap> both = new HashMap<>(byFile);
    other
        .byFile()
        .forEach((file, rows) -> both.merge(file, rows, (one, two) -> RoaringBitmap.or(one, two)));
    return new Selection(both);
  }

  /** The rows of all files together. */
  long rows() {
    return byFile.values().stream().mapToLong(RoaringBitmap::getLongCardinality).sum();
  }

  /** The bytes in memory, locations included. */
  long bytes() {
    long bytes = 0;
    for (Map.Entry<String, RoaringBitmap> file : byFile.entrySet()) {
      bytes += file.getKey().length() + file.getValue().getLongSizeInBytes();
    }
    return bytes;
  }
}
