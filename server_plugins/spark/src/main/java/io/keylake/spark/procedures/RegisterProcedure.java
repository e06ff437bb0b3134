package io.keylake.spark.procedures;

import static io.keylake.spark.procedures.TableArgument.quoted;
import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.TABLE_EXISTS;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.spark.registration.DefinitionWords;
import io.keylake.spark.registration.ParquetFolder;
import io.keylake.spark.registration.Registration;
import io.keylake.spark.registration.Registration.Outcome;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.jspecify.annotations.Nullable;

/** Plain Iceberg tables and folders of Parquet files become keyed tables by a rewrite. */
record RegisterProcedure(TableArgument tables) {
  /** The rows of a table that became a keyed one. */
  private record RegisteredRow(
      String table, long snapshotId, long rowsRead, long keysWritten, long rowsFolded) {}

  LocalProcedure procedure() {
    return LocalProcedure.of(
        "register",
        List.of(
            LocalProcedure.optional("table"),
            LocalProcedure.optional("path"),
            LocalProcedure.optional("into"),
            LocalProcedure.optionalTexts("key"),
            LocalProcedure.optional("ordering"),
            LocalProcedure.optional("versions"),
            LocalProcedure.optional("version"),
            LocalProcedure.optionalNumber("buckets"),
            LocalProcedure.optionalTexts("bucket_by"),
            LocalProcedure.optionalTexts("partition_by")),
        RegisteredRow.class,
        arguments -> List.of(register(arguments)));
  }

  private RegisteredRow register(Arguments arguments) {
    boolean isFolder = arguments.text("path") != null;
    if (isFolder == (arguments.text("table") != null)) {
      throw new KeylakeException(
          DEFINITION,
          "%s given; say table => 'namespace.name' for a table of the catalog, or path => '/folder' for Parquet files"
              .formatted(isFolder ? "both table and path are" : "neither table nor path is"));
    }
    return isFolder ? ofFolder(arguments) : ofTable(arguments);
  }

  private RegisteredRow ofFolder(Arguments arguments) {
    ParquetFolder folder = new ParquetFolder(arguments.requiredText("path"));
    if (arguments.text("into") == null) {
      throw new KeylakeException(
          DEFINITION,
          "path '%s' is no table; say the name of the one to make, into => 'namespace.name'"
              .formatted(folder.path()));
    }
    Dataset<Row> rows = folder.rows();
    Registration registration =
        Registration.of("'" + folder.path() + "'", rows.schema(), List.of(), words(arguments));
    try {
      return made(arguments, registration, () -> rows);
    } catch (Exception e) { // Scala declares none of those it throws
      KeylakeException damage = folder.damage(e);
      if (damage == null) {
        throw e;
      }
      throw damage;
    }
  }

  private RegisteredRow ofTable(Arguments arguments) {
    Table table = tables.load(arguments);
    TableIdentifier ident = tables.identifier(arguments);
    if (KeyedSchema.isKeyed(table)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "%s is a keyed table already; for a copy with another definition write CREATE TABLE ... USING keylake AS SELECT"
              .formatted(quoted(ident)));
    }
    Registration.Source rows = () -> SparkSession.active().table(tables.inSql(ident));
    Registration registration =
        Registration.of(
            quoted(ident),
            rows.rows().schema(),
            table.schema().identifierFieldNames().stream().sorted().toList(),
            words(arguments));
    return arguments.text("into") == null
        ? inPlace(ident, registration, rows)
        : made(arguments, registration, rows);
  }

  private RegisteredRow made(
      Arguments arguments, Registration registration, Registration.Source rows) {
    KeyedCatalog catalog = tables.catalog();
    TableIdentifier into = tables.identifier(arguments, "into");
    catalog.createNamespaces(into);
    try {
      return row(into, registration.run(info -> catalog.stageCreate(name(into), info), rows));
    } catch (TableAlreadyExistsException e) {
      throw new KeylakeException(
          TABLE_EXISTS,
          "table %s exists already; take another name, or drop it".formatted(quoted(into)));
    } catch (NoSuchTableException e) {
      throw moved(into);
    }
  }

  private RegisteredRow inPlace(
      TableIdentifier ident, Registration registration, Registration.Source rows) {
    KeyedCatalog catalog = tables.catalog();
    try {
      return row(ident, registration.run(info -> catalog.stageReplace(name(ident), info), rows));
    } catch (TableAlreadyExistsException | NoSuchTableException e) {
      throw moved(ident);
    }
  }

  private static KeylakeException moved(TableIdentifier ident) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "table %s was created or dropped by somebody else meanwhile; nothing was changed; call register again"
            .formatted(quoted(ident)));
  }

  private RegisteredRow row(TableIdentifier ident, Outcome outcome) {
    Table table = tables.catalog().icebergCatalog().loadTable(ident);
    table.refresh();
    CommitLog.Entry commit =
        new CommitLog(table, null)
            .entries(entry -> outcome.writeId().equals(entry.writeId()), 1)
            .get(0);
    @Nullable Long stored = commit.rows();
    long keys = stored == null ? 0 : stored;
    return new RegisteredRow(
        quoted(ident), commit.snapshotId(), outcome.rowsRead(), keys, outcome.rowsRead() - keys);
  }

  private static Identifier name(TableIdentifier ident) {
    return Identifier.of(ident.namespace().levels(), ident.name());
  }

  private static DefinitionWords words(Arguments arguments) {
    return new DefinitionWords(
        arguments.texts("key"),
        arguments.text("ordering"),
        arguments.text("versions"),
        arguments.text("version"),
        arguments.number("buckets"),
        arguments.texts("bucket_by"),
        arguments.texts("partition_by"));
  }
}
