package io.keylake.spark.procedures;

import static io.keylake.spark.procedures.TableArgument.quoted;

import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.schema.ChangesJson;
import io.keylake.tables.schema.SchemaChange;
import io.keylake.tables.spec.TableDefinition;
import java.util.List;
import org.apache.iceberg.Table;

/** The columns of a table. */
final class SchemaProcedures {
  /** The definition of a table, as JSON. */
  private record SpecRow(String spec) {}

  private final TableArgument tables;

  SchemaProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        LocalProcedure.of(
            "describe", List.of(LocalProcedure.required("table")), SpecRow.class, this::described),
        LocalProcedure.of(
            "alter_columns",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("changes")),
            SpecRow.class,
            this::altered));
  }

  private List<SpecRow> described(Arguments arguments) {
    return described(arguments, tables.load(arguments));
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
