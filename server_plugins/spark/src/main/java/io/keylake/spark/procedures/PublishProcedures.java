package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.spark.publish.KvPublisher;
import io.keylake.spark.publish.PlainCopy;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.DataTypes;
import org.jspecify.annotations.Nullable;

/** Tables as files that an online store loads, and as plain tables. */
final class PublishProcedures {
  /** The files of a publication for an online store. */
  private record PublishedRow(
      long snapshotId,
      long groups,
      long files,
      long rows,
      long tombstones,
      long bytes,
      double seconds) {}

  /** The commit of a plain copy. */
  private record CopiedRow(
      String mode,
      @Nullable String reason,
      @Nullable Long sourceSnapshotId,
      @Nullable Long snapshotId,
      long rowsWritten,
      long rowsDeleted) {}

  private static final String ONE_NAME = "`((?:[^`]|``)+)`|[^`,\\s]+";
  private static final Pattern NAME = Pattern.compile(ONE_NAME);
  private static final Pattern LIST =
      Pattern.compile("\\s*(?:%1$s)\\s*(?:,\\s*(?:%1$s)\\s*)*".formatted(ONE_NAME));

  private final TableArgument tables;

  PublishProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        LocalProcedure.of(
            "publish_kv",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("target"),
                LocalProcedure.optional("format"),
                LocalProcedure.optional("columns"),
                LocalProcedure.optionalNumber("after"),
                LocalProcedure.optionalNumber("at"),
                LocalProcedure.optional("branch")),
            PublishedRow.class,
            this::publish),
        LocalProcedure.of(
            "publish_iceberg",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("into"),
                ProcedureParameter.in("full", DataTypes.BooleanType).defaultValue("false").build()),
            CopiedRow.class,
            this::copy));
  }

  private List<PublishedRow> publish(Arguments arguments) {
    long start = System.nanoTime();
    Table table = tables.load(arguments);
    Long given = arguments.number("at");
    Long at = given == null ? new CommitLog(table, arguments.text("branch")).headId() : given;
    if (at == null) {
      throw new KeylakeException(
          NOT_FOUND, "table %s has no commit yet; write to it first".formatted(table.name()));
    }
    String format = arguments.text("format");
    KvPublisher.Published done =
        new KvPublisher(
                SparkSession.active().sparkContext(), table, arguments.requiredText("target"))
            .publish(
                new KvPublisher.PublishSpec(
                    at,
                    arguments.number("after"),
                    format == null ? "parquet" : format,
                    columns(arguments.text("columns"))));
    return List.of(
        new PublishedRow(
            done.snapshotId(),
            done.groups(),
            done.files(),
            done.rows(),
            done.tombstones(),
            done.bytes(),
            (System.nanoTime() - start) / 1e9));
  }

  private List<CopiedRow> copy(Arguments arguments) {
    Table table = tables.load(arguments);
    TableIdentifier source = tables.identifier(arguments);
    TableIdentifier into = tables.identifier(arguments, "into");
    if (into.namespace().isEmpty()) {
      throw new KeylakeException(
          DEFINITION, "into is '%s'; write namespace.name".formatted(into.name()));
    }
    tables.catalog().createNamespaces(into);
    PlainCopy.Done done =
        new PlainCopy(
                SparkSession.active(),
                tables.catalog().icebergCatalog(),
                table,
                new PlainCopy.Place(source, tables.inSql(source)),
                new PlainCopy.Place(into, tables.inSql(into)))
            .publish(arguments.isSet("full"));
    return List.of(
        new CopiedRow(
            done.mode(),
            done.reason(),
            done.reached(),
            done.snapshotId(),
            done.rows(),
            done.deleted()));
  }

  /** Names with commas between them, in backticks where they have other characters. */
  private static @Nullable List<String> columns(@Nullable String said) {
    if (said == null) {
      return null;
    }
    if (!said.isBlank() && !LIST.matcher(said).matches()) {
      throw new KeylakeException(
          DEFINITION,
          "columns is '%s'; it must be names with commas between them, in backticks where they have other characters"
              .formatted(said));
    }
    return NAME.matcher(said)
        .results()
        .map(name -> name.group(1) == null ? name.group() : name.group(1).replace("``", "`"))
        .toList();
  }
}
