package io.keylake.tables.planning;

import io.keylake.tables.CaseFiles;
import io.keylake.tables.spec.TableDefinition;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.relocated.com.google.common.util.concurrent.MoreExecutors;

/** Real Iceberg tables whose metadata and manifests lie in memory. */
public final class MemoryTables {
  public static final TableIdentifier NAME = TableIdentifier.of("shop", "orders");

  /**
   * Plans scans in the thread that asks: Iceberg looks at its pool every 10 ms, and these are
   * short.
   */
  public static final ExecutorService THIS_THREAD = MoreExecutors.newDirectExecutorService();

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

  /** A catalog that holds one new table of the case "partitioned". */
  public static InMemoryCatalog partitioned() {
    return catalogWith(
        TableDefinition.fromJson(CaseFiles.json("spec/partitioned.json").get("spec").toString()));
  }

  /** A file of that table, on the day of January 2026 that its name begins with. */
  public static DataFile dayFile(Table table, String name) {
    String bucket = table.spec().fields().get(2).name();
    return DataFiles.builder(table.spec())
        .withPath(name)
        .withFormat("parquet")
        .withFileSizeInBytes(10)
        .withRecordCount(1)
        .withPartitionPath("day=2026-01-0%s/tenant=t/%s=0".formatted(name.charAt(0), bucket))
        .build();
  }

  public static Table create(TableDefinition definition) {
    return catalogWith(definition).loadTable(NAME);
  }
}
