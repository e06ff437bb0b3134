package io.keylake.tables.schema;

import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.types.Types.LongType;
import org.apache.iceberg.types.Types.NestedField;

/**
 * Keeps version leaves and states in step with the columns. A leaf that a column group shares keeps
 * the group's name, and goes with its last column; an accumulator has its own in a group, too.
 *
 * @param before the columns as they were
 */
record LeafUpdate(KeyedSchema before, UpdateSchema update) {

  void add(String column) {
    update.addColumn(KeyedSchema.LEAVES, column, LongType.get());
  }

  /**
   * @param dropped field ids of all columns that are dropped so far, this one included
   */
  void drop(NestedField column, Set<Integer> dropped) {
    String leaf = before.leafOf(column).name();
    boolean isUnused =
        before.values().stream()
            .filter(value -> before.leafOf(value).name().equals(leaf))
            .allMatch(value -> dropped.contains(value.fieldId()));
    if (isUnused) {
      update.deleteColumn(KeyedSchema.LEAVES + "." + leaf);
    }
  }

  /** The struct of the states goes with the last of them. */
  void dropStates(Set<Integer> dropped) {
    List<NestedField> gone =
        before.values().stream()
            .filter(value -> dropped.contains(value.fieldId()) && before.stateOf(value) != null)
            .toList();
    if (!gone.isEmpty() && gone.size() == before.states().fields().size()) {
      update.deleteColumn(KeyedSchema.ALL_STATES);
    } else {
      gone.forEach(value -> update.deleteColumn(KeyedSchema.ALL_STATES + "." + value.name()));
    }
  }

  /** Values that are there were rounded to a narrower type; from now on the states are asked. */
  void widen(NestedField column) {
    if (before.stateOf(column) != null) {
      update.updateColumnDoc(KeyedSchema.ALL_STATES + "." + column.name(), KeyedSchema.WIDENED);
    }
  }

  void rename(NestedField column, String name) {
    boolean isOwn = !isGrouped(column) || before.spec().reducer(column.name()).accumulates();
    if (isOwn) {
      update.renameColumn(KeyedSchema.LEAVES + "." + column.name(), name);
    }
    if (before.stateOf(column) != null) {
      update.renameColumn(KeyedSchema.ALL_STATES + "." + column.name(), name);
    }
  }

  boolean isGrouped(NestedField column) {
    return before.spec().columnGroups().values().stream()
        .anyMatch(group -> group.columns().contains(column.name()));
  }
}
