package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.StoreFailure;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchNamespaceException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.RuntimeIOException;
import org.apache.iceberg.expressions.Expression;

/** The argument {@code table} of a call: a name, and what it names in a catalog. */
record TableArgument(KeyedCatalog catalog) {

  Table load(Arguments arguments) {
    TableIdentifier ident = identifier(arguments);
    try {
      return catalog.icebergCatalog().loadTable(ident);
    } catch (NoSuchTableException | NoSuchNamespaceException e) {
      throw new KeylakeException(
          NOT_FOUND, "there is no table %s in catalog %s".formatted(quoted(ident), catalog.name()));
    } catch (NotFoundException | RuntimeIOException e) {
      throw StoreFailure.loading(catalog.name() + "." + ident, e);
    }
  }

  /** A condition in Spark's SQL on the columns of the table, as Iceberg has it. */
  Expression condition(Arguments arguments, String where) {
    String table = inSql(identifier(arguments));
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
    return Stream.concat(Stream.of(catalog.name()), parts(ident))
        .map(TableArgument::backticked)
        .collect(Collectors.joining("."));
  }

  TableIdentifier identifier(Arguments arguments) {
    List<String> parts = arguments.identifier("table");
    boolean hasCatalog = parts.size() > 2 && parts.get(0).equals(catalog.name());
    return TableIdentifier.of(
        parts.subList(hasCatalog ? 1 : 0, parts.size()).toArray(String[]::new));
  }

  /** The name of a table as people read it. */
  static String quoted(TableIdentifier ident) {
    return parts(ident)
        .map(part -> part.matches("[A-Za-z_][A-Za-z0-9_]*") ? part : backticked(part))
        .collect(Collectors.joining("."));
  }

  private static Stream<String> parts(TableIdentifier ident) {
    return Stream.concat(Arrays.stream(ident.namespace().levels()), Stream.of(ident.name()));
  }

  private static String backticked(String part) {
    return "`" + part.replace("`", "``") + "`";
  }
}
