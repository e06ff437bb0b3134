package io.keylake.spark.rest;

import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.responses.LoadTableResponse;

/** Keyed tables for clients that do not merge: what such a client loads in place of the table. */
public interface KeyedTables {
  /**
   * The answer to a client that loads the table.
   *
   * @param catalog that has the table, without a cache
   * @param table as the catalog has it now
   */
  LoadTableResponse load(Catalog catalog, TableIdentifier name, Table table);
}
