package io.keylake.merge;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.LongStream;

/**
 * One row as it lies in a run: all that its commits say about the key.
 *
 * @param written the newest surviving write, or null
 * @param deleted the newest tombstone, or null
 * @param cells by version leaf; what is not there is absent
 */
public record StoredRow(Key key, Long written, Long deleted, Map<String, Cell> cells) {
  public StoredRow {
    cells = Collections.unmodifiableMap(new TreeMap<>(cells));
  }

  /** The newest version of all. */
  public long version() {
    long newest = Long.MIN_VALUE;
    for (Cell cell : cells.values()) {
      newest = Math.max(newest, cell.at());
    }
    newest = written == null ? newest : Math.max(newest, written);
    return deleted == null ? newest : Math.max(newest, deleted);
  }

  /** Every version that the row says anything at. */
  public LongStream versions() {
    LongStream.Builder all = LongStream.builder();
    if (written != null) {
      all.add(written);
    }
    if (deleted != null) {
      all.add(deleted);
    }
    cells.values().forEach(cell -> all.add(cell.at()));
    return all.build();
  }

  /** The version of a leaf, or null where it is absent. */
  public Long versionOf(String leaf) {
    return cells.containsKey(leaf) ? cells.get(leaf).at() : null;
  }

  public boolean isVisible() {
    return written != null;
  }

  /** The row as a read gives it that asks for no stamps. */
  public StoredRow withoutStamps() {
    Map<String, Cell> values = new TreeMap<>();
    cells.forEach((leaf, cell) -> values.put(leaf, new Cell(0, cell.values())));
    return new StoredRow(key, null, null, values);
  }
}
