package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.spark.KeylakeCatalog;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.KeylakeException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchNamespaceException;
import org.apache.iceberg.exceptions.NoSuchTableException;

/** The argument {@code table} of a call: a name, and what it names in a catalog. */
record TableArgument(KeylakeCatalog catalog) {

  Table load(Arguments arguments) {
    TableIdentifier ident = identifier(arguments);
    try {
      return catalog.icebergCatalog().loadTable(ident);
    } catch (NoSuchTableException | NoSuchNamespaceException e) {
      throw new KeylakeException(
          NOT_FOUND, "there is no table %s in catalog %s".formatted(quoted(ident), catalog.name()));
    }
  }

  TableIdentifier identifier(Arguments arguments) {
    List<String> parts = arguments.identifier("table");
    boolean hasCatalog = parts.size() > 2 && parts.get(0).equals(catalog.name());
    return TableIdentifier.of(
        parts.subList(hasCatalog ? 1 : 0, parts.size()).toArray(String[]::new));
  }

  static String quoted(TableIdentifier ident) {
    return Stream.concat(Arrays.stream(ident.namespace().levels()), Stream.of(ident.name()))
        .map(
            part ->
                part.matches("[A-Za-z_][A-Za-z0-9_]*") ? part : "`" + part.replace("`", "``") + "`")
        .collect(Collectors.joining("."));
  }
}
