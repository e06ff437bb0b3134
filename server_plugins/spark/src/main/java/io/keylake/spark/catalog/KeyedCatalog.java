package io.keylake.spark.catalog;

import io.keylake.tables.spec.TableDefinition;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableInfo;

/** A catalog that holds keyed tables, as rules and procedures need it. */
public interface KeyedCatalog {
  String name();

  Catalog icebergCatalog();

  /** The same, which sessions with the same options share, without a cache of tables. */
  Catalog sharedCatalog();

  /** The store of the catalog's files, for tables that cannot be opened. The caller closes it. */
  FileIO store();

  /** The parts of a name without the catalog's own, which people may write in front of it. */
  default List<String> withoutName(List<String> parts) {
    boolean hasName = parts.size() > 2 && parts.get(0).equals(name());
    return hasName ? parts.subList(1, parts.size()) : parts;
  }

  /** A table, a branch or a part of one, as a query names it. */
  Table loadTable(Identifier ident) throws NoSuchTableException;

  /** The same at a snapshot id, a tag or a branch. */
  Table loadTable(Identifier ident, String version) throws NoSuchTableException;

  /** The same as it was at a time. */
  Table loadTable(Identifier ident, long timestampMicros) throws NoSuchTableException;

  /** Every table below a namespace, at any depth, keyed or not; of no namespace: of the catalog. */
  List<TableIdentifier> tablesBelow(String... namespace);

  /** Creates the namespaces of a table that are missing. */
  void createNamespaces(TableIdentifier ident);

  /** Begins a table that is there once its rows are. */
  StagedTable stageCreate(Identifier ident, TableInfo info) throws TableAlreadyExistsException;

  /** Begins what takes the place of a table once its rows are there. */
  StagedTable stageReplace(Identifier ident, TableInfo info) throws NoSuchTableException;

  /** Creates a keyed table; refuses where there is a table of that name. */
  org.apache.iceberg.Table create(
      TableIdentifier ident, TableDefinition definition, Map<String, String> properties);
}
