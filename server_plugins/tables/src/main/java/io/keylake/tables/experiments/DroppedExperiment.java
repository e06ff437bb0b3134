package io.keylake.tables.experiments;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Ends an experiment with its columns and values, in one commit that opens no data file: its branch
 * goes, and with it all files that have its values. They are deleted when its snapshots expire.
 */
record DroppedExperiment(String name) implements Change {
  @Override
  public void addTo(Attempt attempt) {
    Table table = attempt.transaction().table();
    Experiment experiment = Experiments.found(table, name);
    UpdateSchema update = attempt.transaction().updateSchema();
    for (int id : experiment.added()) {
      NestedField column = table.schema().findField(id);
      if (column != null) {
        update.deleteColumn(column.name());
        update.deleteColumn(
            String.join(".", KeyedSchema.MERGE_INFO, KeyedSchema.COLUMNS, column.name()));
      }
    }
    update.commit();
    attempt
        .transaction()
        .updateProperties()
        .remove(experiment.property())
        .set(experiment.propertyOnceGone(), experiment.toJson())
        .commit();
    if (table.refs().containsKey(experiment.branch())) {
      attempt.references().removeBranch(experiment.branch()).commit();
    }
  }

  /** Nothing of the branch is read or relied on. */
  @Override
  public boolean takesForeign() {
    return true;
  }

  @Override
  public @Nullable KeylakeException lost(String why) {
    return null;
  }
}
