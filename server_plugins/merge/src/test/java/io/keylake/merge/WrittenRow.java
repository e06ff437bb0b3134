package io.keylake.merge;

import java.util.Map;

/**
 * One row as somebody wrote it: a tombstone, or the values it carries, each with its version.
 *
 * @param cells by version leaf; what is not there is absent
 */
public record WrittenRow(Key key, long version, boolean isTombstone, Map<String, Cell> cells) {
  public WrittenRow {
    cells = Map.copyOf(cells);
  }
}
