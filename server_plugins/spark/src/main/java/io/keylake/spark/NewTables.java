package io.keylake.spark;

import io.keylake.spark.access.CodeRights;
import io.keylake.spark.catalog.TableNames;
import io.keylake.spark.maintenance.Maintenance;
import io.keylake.spark.reducers.user.PythonReducer;
import io.keylake.spark.reducers.user.UserReducers;
import io.keylake.spark.table.StagedKeyedTable;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.staged.Staging;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Catalog.TableBuilder;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.spark.Spark3Util;
import org.apache.iceberg.types.Type;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/**
 * Makes the keyed tables of a catalog, alone or together with their rows.
 *
 * @param name of the catalog
 */
record NewTables(String name, Catalog catalog, TablePlaces places) {

  /** Throws {@link AlreadyExistsException} when there is a table of that name. */
  Table create(TableIdentifier ident, TableDefinition definition, Map<String, String> given) {
    CertainOperations.ofNew(builder(ident, definition, given).createTransaction())
        .commitTransaction();
    return catalog.loadTable(ident);
  }

  /** The same for a table that is there once its rows are. */
  StagedKeyedTable staged(
      TableIdentifier ident, TableDefinition definition, Map<String, String> given) {
    return staged(
        ident,
        Staging.ofNew(
            builder(ident, definition, given).createTransaction(), () -> catalog.loadTable(ident)));
  }

  /** The table that takes the place of another one, with the rows that are written to it. */
  StagedKeyedTable replacing(
      TableIdentifier ident, Table table, TableDefinition definition, Map<String, String> given) {
    checkReducers(ident, definition);
    places.checkReplaced(table, given);
    return staged(ident, Staging.replacing(table, definition, kept(given)));
  }

  private StagedKeyedTable staged(TableIdentifier ident, Staging staged) {
    return new StagedKeyedTable(staged, () -> look(ident));
  }

  private void look(TableIdentifier ident) {
    Maintenance maintenance = Maintenance.of(SparkSession.active().sparkContext());
    if (maintenance != null) {
      maintenance.look(name + "." + ident, null, () -> catalog.loadTable(ident));
    }
  }

  private TableBuilder builder(
      TableIdentifier ident, TableDefinition definition, Map<String, String> given) {
    TableNames.check(ident);
    checkReducers(ident, definition);
    Schema schema = definition.icebergSchema();
    TableBuilder builder =
        catalog
            .buildTable(ident, schema)
            .withPartitionSpec(definition.partitionSpec(schema))
            .withSortOrder(definition.sortOrder(schema))
            .withProperties(definition.properties(kept(given)));
    return places.placed(builder, given.get(TableCatalog.PROP_LOCATION));
  }

  /** Classes of users are tried before the table is there. */
  private void checkReducers(TableIdentifier ident, TableDefinition definition) {
    definition
        .spec()
        .reducers()
        .forEach(
            (column, reducer) -> {
              Type type = definition.columns().findField(column).type();
              CodeRights.check(reducer, name + "." + ident);
              UserReducers.check(column, reducer, type);
              PythonReducer.check(column, reducer, type);
            });
  }

  /** The properties without those that are none of a table in Iceberg. */
  private static Map<String, String> kept(Map<String, String> given) {
    return Spark3Util.rebuildCreateProperties(new HashMap<>(given));
  }
}
