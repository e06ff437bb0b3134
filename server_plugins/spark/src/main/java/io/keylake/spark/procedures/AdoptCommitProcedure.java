package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.engine.StagedFiles;
import io.keylake.spark.metadata.CommitRow;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.repair.Adoption;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.functions;
import org.jspecify.annotations.Nullable;

/**
 * Adopts a commit of another engine: reads the rows that it appended, and writes them as an upsert
 * of keylake in the place of its files.
 */
record AdoptCommitProcedure(TableArgument tables) {
  /** The only rule so far: each appended row is an upsert at a stated version. */
  private static final String UPSERT = "upsert";

  private static final String POSITION = "_pos";

  LocalProcedure procedure() {
    return LocalProcedure.of(
        "adopt_commit",
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.requiredNumber("snapshot_id"),
            LocalProcedure.required("rule"),
            LocalProcedure.optional("version"),
            LocalProcedure.optionalNumber("version_value"),
            LocalProcedure.optional("branch")),
        CommitRow.class,
        this::adopt);
  }

  private List<CommitRow> adopt(LocalProcedure.Arguments arguments) {
    if (!UPSERT.equals(arguments.text("rule"))) {
      throw new KeylakeException(
          DEFINITION,
          "rule '%s' is unknown; the rule is '%s': each appended row becomes an upsert at the stated version"
              .formatted(arguments.text("rule"), UPSERT));
    }
    Table table = tables.load(arguments);
    table.refresh();
    String branch = arguments.text("branch");
    KeyedSchema schema = KeyedSchema.of(table);
    Adoption adoption = Adoption.of(table, branch, arguments.requiredNumber("snapshot_id"));
    adoption.checkKeys(schema);
    String writeId = UUID.randomUUID().toString();
    try (StagedFiles files = StagedFiles.of(table, writeId, adoption.files())) {
      Dataset<Row> rows = files.rows();
      if (!rows.filter(column(KeyedSchema.MERGE_INFO).isNotNull()).isEmpty()) {
        throw adoption.hasVersions();
      }
      rows.select(columns(schema))
          .writeTo(target(arguments, branch))
          .options(options(arguments, adoption, writeId))
          .append();
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchTableException e) {
      throw new IllegalStateException(e); // it was loaded a moment ago
    }
    table.refresh();
    return new CommitLog(table, branch)
        .entries(entry -> writeId.equals(entry.writeId()), 1).stream().map(CommitRow::of).toList();
  }

  /** The user's columns, and the position in the file: at equal versions the later row wins. */
  private static Column[] columns(KeyedSchema schema) {
    List<Column> columns = new ArrayList<>();
    schema.visible().columns().stream()
        .map(NestedField::name)
        .forEach(name -> columns.add(column(name)));
    columns.add(column(POSITION));
    return columns.toArray(Column[]::new);
  }

  private static Column column(String name) {
    return functions.col(QuotingUtils.quoteIdentifier(name));
  }

  private String target(LocalProcedure.Arguments arguments, @Nullable String branch) {
    String table = tables.inSql(tables.identifier(arguments));
    return branch == null ? table : table + "." + QuotingUtils.quoteIdentifier("branch_" + branch);
  }

  private static Map<String, String> options(
      LocalProcedure.Arguments arguments, Adoption adoption, String writeId) {
    Map<String, String> options = new HashMap<>();
    options.put("verb", UPSERT);
    options.put("row_order", POSITION);
    options.put("write_id", writeId);
    options.put("adopts", String.valueOf(adoption.snapshotId()));
    options.put("adopts_at", String.valueOf(adoption.plannedAt()));
    if (arguments.text("version") != null) {
      options.put("version", arguments.text("version"));
    }
    if (arguments.number("version_value") != null) {
      options.put("version_value", String.valueOf(arguments.number("version_value")));
    }
    return options;
  }
}
