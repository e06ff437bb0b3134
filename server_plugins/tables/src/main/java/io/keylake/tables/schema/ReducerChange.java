package io.keylake.tables.schema;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import io.keylake.tables.Backoff;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.PastSpecs;
import io.keylake.tables.spec.Reducer;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.spec.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.BinaryType;
import org.apache.iceberg.types.Types.LongType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;

/**
 * The reducers of columns that were added and not written yet. Another reducer would give other
 * answers for the values that are there, so a column keeps its own from the first commit on that
 * could have written it.
 */
public final class ReducerChange {
  private ReducerChange() {}

  /** Changes the reducers of some columns in one commit. */
  public static void make(Table table, Map<String, Reducer> reducers) {
    Backoff.retry(table, "the change of reducers", () -> tried(table, reducers));
  }

  private static TableSpec tried(Table table, Map<String, Reducer> reducers) {
    TableOperations operations =
        CertainOperations.of(((HasTableOperations) table).operations(), table.name());
    TableMetadata base = operations.refresh();
    KeyedSchema schema = KeyedSchema.of(table);
    reducers.keySet().forEach(column -> check(table, schema, base, column));
    TableSpec before =
        TableSpec.fromJson(
            Objects.requireNonNull(base.properties().get(TableSpec.PROPERTY), "a keyed table"));
    TableSpec after = before.withReducers(reducers);
    // Its rules are those of a new table.
    new TableDefinition(schema.spec().withReducers(reducers), schema.visible(), "");
    Schema columns = fitted(table, schema, after);
    boolean isOther = !columns.sameSchema(base.schema());
    Map<String, String> properties = new HashMap<>(base.properties());
    Set<Integer> others = new HashSet<>(base.schemasById().keySet());
    if (!isOther) {
      others.remove(base.currentSchemaId());
    }
    properties.putAll(PastSpecs.kept(properties, others, before));
    properties.put(TableSpec.PROPERTY, after.toJson());
    TableMetadata changed = isOther ? base.updateSchema(columns) : base;
    operations.commit(base, changed.replaceProperties(properties));
    return after;
  }

  /** The schema with the version leaves and states that columns of these reducers have. */
  private static Schema fitted(Table table, KeyedSchema schema, TableSpec after) {
    UpdateSchema update = table.updateSchema();
    Set<String> leaves = new LinkedHashSet<>();
    Set<String> states = new LinkedHashSet<>();
    for (NestedField value : schema.values()) {
      leaves.add(after.leafOf(value.name()));
      if (after.reducer(value.name()).hasState(value.type())) {
        states.add(value.name());
      }
    }
    fit(update, KeyedSchema.LEAVES, schema.leaves(), leaves, LongType.get());
    StructType before = schema.states();
    if (states.isEmpty() && !before.fields().isEmpty()) {
      update.deleteColumn(KeyedSchema.ALL_STATES);
    } else if (!states.isEmpty() && before.fields().isEmpty()) {
      update.addColumn(KeyedSchema.MERGE_INFO, KeyedSchema.STATES, struct(states));
    } else {
      fit(update, KeyedSchema.ALL_STATES, before, states, BinaryType.get());
    }
    return update.apply();
  }

  private static void fit(
      UpdateSchema update, String parent, StructType before, Set<String> wanted, Type type) {
    for (NestedField field : before.fields()) {
      if (!wanted.contains(field.name())) {
        update.deleteColumn(parent + "." + field.name());
      }
    }
    for (String name : wanted) {
      if (before.field(name) == null) {
        update.addColumn(parent, name, type);
      }
    }
  }

  /** A struct with ids that the schema replaces by its own. */
  private static StructType struct(Set<String> names) {
    List<NestedField> fields = new ArrayList<>();
    names.forEach(
        name -> fields.add(NestedField.optional(fields.size() + 1, name, BinaryType.get())));
    return StructType.of(fields);
  }

  private static void check(Table table, KeyedSchema schema, TableMetadata base, String column) {
    checkNoExperiment(table, base, column);
    NestedField field =
        schema.values().stream()
            .filter(value -> value.name().equals(column))
            .findFirst()
            .orElseThrow(
                () ->
                    new KeylakeException(
                        SCHEMA_MISMATCH,
                        "table %s has no value column '%s'; its value columns are %s"
                            .formatted(
                                table.name(),
                                column,
                                schema.values().stream().map(NestedField::name).toList())));
    boolean isWritten =
        base.snapshots().stream()
            .map(
                snapshot ->
                    snapshot.schemaId() == null
                        ? null
                        : base.schemasById().get(snapshot.schemaId()))
            .anyMatch(then -> then == null || then.findField(field.fieldId()) != null);
    if (isWritten) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' of table %s can have values already, because there are commits since it was added, and another reducer would change what is read; add a column, set its reducer before anything is written, and write the values there"
              .formatted(column, table.name()));
    }
  }

  private static void checkNoExperiment(Table table, TableMetadata base, String column) {
    NestedField field = base.schema().asStruct().field(column);
    for (Experiment experiment : Experiment.all(base.properties())) {
      if (field != null && experiment.added().contains(field.fieldId())) {
        throw new KeylakeException(
            DEFINITION,
            "column '%s' is of experiment '%s' of table %s, and the columns of experiments have the reducer Latest; add a column to the table itself and set its reducer"
                .formatted(column, experiment.name(), table.name()));
      }
    }
  }
}
