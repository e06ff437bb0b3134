package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.catalog.TableNames;
import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.extension.CatalogTables;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.spark.table.KeyedTable;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchNamespaceException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.expressions.Expression;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;

/** The argument {@code table} of a call: a name, and what it names in a catalog. */
record TableArgument(KeyedCatalog catalog) implements CatalogTables {
  /**
   * The procedures that take the branch of an experiment: they look at its files as such, or merge
   * them among themselves.
   */
  private static final Set<String> FOR_EXPERIMENTS =
      Set.of(
          "commits",
          "commit_range",
          "compact",
          "compaction_plan",
          "explain_row",
          "rebucket",
          "wait_for_commits");

  Table load(Arguments arguments) {
    return load(arguments, "table");
  }

  /**
   * @param name of the argument
   */
  Table load(Arguments arguments, String name) {
    Table table = load(identifier(arguments, name));
    List.of("branch", "source").forEach(each -> checkBranch(arguments, table, each));
    return table;
  }

  @Override
  public Table load(String name) {
    return load(identifier(Arguments.identifierOf(name)));
  }

  @Override
  public void hasChanged(String name) {
    TableIdentifier ident = identifier(Arguments.identifierOf(name));
    ClassicSession.active()
        .hasChanged(Stream.concat(Stream.of(catalog.name()), TableNames.parts(ident)).toList());
  }

  private Table load(TableIdentifier ident) {
    try {
      return catalog.icebergCatalog().loadTable(ident);
    } catch (NoSuchTableException | NoSuchNamespaceException e) {
      throw noTable(ident);
    } catch (RuntimeException e) {
      throw StoreFailure.loading(catalog.name() + "." + ident, e);
    }
  }

  /** The table as a query reads it, by the arguments {@code table}, {@code branch}, {@code at}. */
  KeyedTable read(String procedure, List<ProcedureParameter> in, InternalRow values) {
    Arguments arguments = new Arguments(procedure, in, values);
    Table table = load(arguments);
    KeyedSchema.of(table); // it has to be keyed
    String branch = arguments.text("branch");
    new CommitLog(table, branch).headId(); // it has to be there
    TableIdentifier ident = identifier(arguments);
    Identifier main = Identifier.of(ident.namespace().levels(), ident.name());
    try {
      if (arguments.isGiven("at")) { // of the table, whichever branch had it
        return (KeyedTable) at(main, arguments, table);
      }
      Identifier named =
          branch == null
              ? main
              : Identifier.of(TableNames.parts(ident).toArray(String[]::new), "branch_" + branch);
      return (KeyedTable) catalog.loadTable(named);
    } catch (org.apache.spark.sql.catalyst.analysis.NoSuchTableException e) {
      throw noTable(ident);
    }
  }

  private org.apache.spark.sql.connector.catalog.Table at(
      Identifier main, Arguments arguments, Table table)
      throws org.apache.spark.sql.catalyst.analysis.NoSuchTableException {
    DataType type = arguments.type("at");
    if (type instanceof StringType) {
      String name = arguments.requiredText("at");
      if (!table.refs().containsKey(name)) {
        throw new KeylakeException(
            NOT_FOUND,
            "%s has no tag or branch '%s'; give at => a snapshot id, a timestamp, or the name of a tag or branch"
                .formatted(table.name(), name));
      }
      return catalog.loadTable(main, name);
    }
    long at = arguments.requiredNumber("at");
    if (!(type instanceof LongType)) {
      return catalog.loadTable(main, at);
    }
    if (table.snapshot(at) == null) {
      CommitRange.of(table, at, at); // says what is there
    }
    return catalog.loadTable(main, String.valueOf(at));
  }

  private KeylakeException noTable(TableIdentifier ident) {
    return new KeylakeException(
        NOT_FOUND, "there is no table %s in catalog %s".formatted(quoted(ident), catalog.name()));
  }

  /** Refuses what would bring commits of an experiment elsewhere, or others to it. */
  private static void checkBranch(Arguments arguments, Table table, String name) {
    Experiment experiment =
        Experiment.ofBranch(table.properties(), arguments.has(name) ? arguments.text(name) : null);
    if (experiment != null && !FOR_EXPERIMENTS.contains(arguments.procedure())) {
      throw new KeylakeException(
          UNSUPPORTED,
          "%s is not supported on experiment '%s' of table %s; promote_experiment brings it to main, and drop_experiment ends it"
              .formatted(arguments.procedure(), experiment.name(), table.name()));
    }
  }

  @Override
  public Expression condition(String name, String where) {
    String table = inSql(identifier(Arguments.identifierOf(name)));
    try {
      return ClassicSession.active().condition(table, where);
    } catch (Exception e) { // Scala declares none of those it throws
      throw new KeylakeException(
          DEFINITION,
          "the condition %s cannot be asked of files (%s); compare columns of the table with values"
              .formatted(where, String.valueOf(e.getMessage()).lines().findFirst().orElse("")));
    }
  }

  /** The name of a table with its catalog, every part quoted. */
  String inSql(TableIdentifier ident) {
    return TableNames.inSql(catalog.name(), ident);
  }

  /** The name of the catalog, quoted. */
  String catalogInSql() {
    return QuotingUtils.quoteIfNeeded(catalog.name());
  }

  TableIdentifier identifier(Arguments arguments) {
    return identifier(arguments, "table");
  }

  TableIdentifier identifier(Arguments arguments, String name) {
    return identifier(arguments.identifier(name));
  }

  private TableIdentifier identifier(List<String> parts) {
    return TableIdentifier.of(catalog.withoutName(parts).toArray(String[]::new));
  }

  /** The name of a table as people read it. */
  static String quoted(TableIdentifier ident) {
    return TableNames.parts(ident)
        .map(
            part ->
                part.matches("[A-Za-z_][A-Za-z0-9_]*") ? part : QuotingUtils.quoteIdentifier(part))
        .collect(Collectors.joining("."));
  }
}
