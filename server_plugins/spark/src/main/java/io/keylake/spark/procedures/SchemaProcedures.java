package io.keylake.spark.procedures;

import static io.keylake.spark.procedures.TableArgument.quoted;

import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.indexes.ValueIndexes;
import io.keylake.tables.schema.ChangesJson;
import io.keylake.tables.schema.SchemaChange;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;

/** The columns of a table, and their indices. */
final class SchemaProcedures {
  /** An index of the values of a column; files up to that sequence number lack it. */
  private record IndexRow(String column, String kind, long lackedUntil) {}

  /** The definition of a table, as JSON. */
  private record SpecRow(String spec) {}

  private final TableArgument tables;

  SchemaProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        LocalProcedure.of(
            "describe",
            List.of(LocalProcedure.required("table"), LocalProcedure.optionalNumber("at")),
            SpecRow.class,
            this::described),
        LocalProcedure.of(
            "alter_columns",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("changes")),
            SpecRow.class,
            this::altered),
        LocalProcedure.of(
            "indexes",
            List.of(LocalProcedure.required("table")),
            IndexRow.class,
            arguments -> indexes(tables.load(arguments))),
        LocalProcedure.of(
            "add_index",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("column")),
            IndexRow.class,
            this::indexed),
        LocalProcedure.of(
            "drop_index",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("column")),
            IndexRow.class,
            this::notIndexed));
  }

  private static List<IndexRow> indexes(Table table) {
    return ValueIndexes.values(table.properties(), KeyedSchema.of(table)).stream()
        .map(field -> new IndexRow(field.name(), "bloom", ValueIndexes.lackedUntil(table, field)))
        .toList();
  }

  private List<IndexRow> indexed(Arguments arguments) {
    Table table = tables.load(arguments);
    ValueIndexes.add(table, arguments.requiredText("column"));
    return indexes(table);
  }

  private List<IndexRow> notIndexed(Arguments arguments) {
    Table table = tables.load(arguments);
    ValueIndexes.drop(table, arguments.requiredText("column"));
    return indexes(table);
  }

  /** The spec as it is, or with the columns that the table had at a snapshot. */
  private List<SpecRow> described(Arguments arguments) {
    Table table = tables.load(arguments);
    Long at = arguments.number("at");
    if (at == null) {
      return described(arguments, table);
    }
    if (table.snapshot(at) == null) {
      CommitRange.of(table, at, at); // says what is there
    }
    KeyedSchema then = KeyedSchema.of(table, SnapshotUtil.schemaFor(table, at));
    String name = quoted(tables.identifier(arguments));
    return List.of(new SpecRow(TableDefinition.describe(table, name, then)));
  }

  private List<SpecRow> described(Arguments arguments, Table table) {
    String name = quoted(tables.identifier(arguments));
    return List.of(new SpecRow(TableDefinition.describe(table, name)));
  }

  /** Several changes in one commit: all of them, or none. */
  private List<SpecRow> altered(Arguments arguments) {
    Table table = tables.load(arguments);
    SchemaChange.make(table, ChangesJson.read(arguments.requiredText("changes")));
    return described(arguments, table);
  }
}
