package io.keylake.spark.procedures;

import static io.keylake.spark.procedures.TableArgument.quoted;

import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.schema.ChangesJson;
import io.keylake.tables.schema.SchemaChange;
import io.keylake.tables.spec.TableDefinition;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The columns of a table. */
final class SchemaProcedures {
  private static final StructType SPEC = new StructType().add("spec", DataTypes.StringType);

  private final TableArgument tables;

  SchemaProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        new LocalProcedure(
            "describe", List.of(LocalProcedure.required("table")), SPEC, this::described),
        new LocalProcedure(
            "alter_columns",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("changes")),
            SPEC,
            this::altered));
  }

  private List<InternalRow> described(Arguments arguments) {
    return described(arguments, tables.load(arguments));
  }

  private List<InternalRow> described(Arguments arguments, Table table) {
    String name = quoted(tables.identifier(arguments));
    return List.of(LocalProcedure.row(TableDefinition.describe(table, name)));
  }

  /** Several changes in one commit: all of them, or none. */
  private List<InternalRow> altered(Arguments arguments) {
    Table table = tables.load(arguments);
    SchemaChange.make(table, ChangesJson.read(arguments.requiredText("changes")));
    return described(arguments, table);
  }
}
