package io.keylake.spark.catalog;

import io.keylake.tables.spec.TableDefinition;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.spark.sql.connector.catalog.Table;

/** What rules and procedures need of a catalog that holds keyed tables. */
public interface KeyedCatalog {
  String name();

  Catalog icebergCatalog();

  /** Every table below a namespace, at any depth, keyed or not; of no namespace: of the catalog. */
  List<TableIdentifier> tablesBelow(String... namespace);

  /** Creates the namespaces of a table that are missing. */
  void createNamespaces(TableIdentifier ident);

  /** Creates a keyed table. */
  Table create(TableIdentifier ident, TableDefinition definition, Map<String, String> properties);
}
