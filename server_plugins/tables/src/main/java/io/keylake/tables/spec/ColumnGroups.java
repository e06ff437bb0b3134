package io.keylake.tables.spec;

import io.keylake.tables.spec.TableSpec.ColumnGroup;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * The column groups of a table, by name and by column: every plan asks for the group of every
 * column, and a table has thousands of columns.
 */
record ColumnGroups(Map<String, ColumnGroup> byName, Map<String, String> nameByColumn)
    implements Serializable {
  static ColumnGroups of(Map<String, ColumnGroup> byName) {
    Map<String, String> nameByColumn = new HashMap<>();
    byName.forEach(
        (name, group) -> group.columns().forEach(column -> nameByColumn.put(column, name)));
    return new ColumnGroups(Map.copyOf(byName), Map.copyOf(nameByColumn));
  }

  /** The name of a column's group, or of the column. */
  String nameOf(String column) {
    return nameByColumn.getOrDefault(column, column);
  }
}
