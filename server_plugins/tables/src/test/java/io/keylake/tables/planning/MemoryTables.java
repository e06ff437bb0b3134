package io.keylake.tables.planning;

import io.keylake.tables.spec.TableDefinition;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.inmemory.InMemoryCatalog;

/** Real Iceberg tables whose metadata and manifests lie in memory. */
public final class MemoryTables {
  public static final TableIdentifier NAME = TableIdentifier.of("shop", "orders");

  private MemoryTables() {}

  /** A catalog that holds one new table, {@link #NAME}. */
  public static InMemoryCatalog catalogWith(TableDefinition definition) {
    InMemoryCatalog catalog = new InMemoryCatalog();
    catalog.initialize("memory", Map.of());
    catalog.createNamespace(Namespace.of("shop"));
    Schema schema = definition.icebergSchema();
    catalog
        .buildTable(NAME, schema)
        .withPartitionSpec(definition.partitionSpec(schema))
        .withSortOrder(definition.sortOrder(schema))
        .withProperties(definition.properties(Map.of()))
        .create();
    return catalog;
  }

  public static Table create(TableDefinition definition) {
    return catalogWith(definition).loadTable(NAME);
  }
}
