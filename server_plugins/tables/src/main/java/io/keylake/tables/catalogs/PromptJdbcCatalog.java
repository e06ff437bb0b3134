package io.keylake.tables.catalogs;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.jdbc.JdbcClientPool;
import org.jspecify.annotations.Nullable;

/**
 * Iceberg's catalog in a database. What a store answers about the metadata of a table is told after
 * the repeats of the store's own client, and not after twenty times as many. Several tables can be
 * changed in one transaction of the database.
 */
public final class PromptJdbcCatalog extends JdbcCatalog implements PointerCatalog {
  /** All sessions of a process share them. */
  private static final String CONNECTIONS = "4";

  private final Store store;

  public PromptJdbcCatalog() {
    this(new Store());
  }

  private PromptJdbcCatalog(Store store) {
    super(store::opened, store::connected, true);
    this.store = store;
  }

  /** The store and the database; Iceberg's constructor wants them before there is a catalog. */
  private static final class Store {
    private @Nullable Object conf;
    private @Nullable MetadataFiles files;
    private @Nullable JdbcClientPool connections;

    FileIO opened(Map<String, String> properties) {
      String implementation =
          properties.getOrDefault(CatalogProperties.FILE_IO_IMPL, HadoopFileIO.class.getName());
      files = new MetadataFiles(CatalogUtil.loadFileIO(implementation, properties, conf));
      return files;
    }

    JdbcClientPool connected(Map<String, String> properties) {
      connections = new JdbcClientPool(properties.get(CatalogProperties.URI), properties);
      return connections;
    }

    MetadataFiles files() {
      return Objects.requireNonNull(files);
    }

    JdbcClientPool connections() {
      return Objects.requireNonNull(connections);
    }
  }

  /**
   * The options of a catalog, with this one for Iceberg's own in a database, and with connections
   * for several sessions. Where no FileIO is named, files are Hadoop's, as in Iceberg's own.
   */
  public static Map<String, String> inPlaceOfIcebergs(Map<String, String> given) {
    Map<String, String> options = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    options.putAll(given);
    boolean isJdbc =
        CatalogUtil.ICEBERG_CATALOG_TYPE_JDBC.equalsIgnoreCase(
                options.get(CatalogUtil.ICEBERG_CATALOG_TYPE))
            || JdbcCatalog.class.getName().equals(options.get(CatalogProperties.CATALOG_IMPL));
    if (isJdbc) {
      options.putIfAbsent(CatalogProperties.CLIENT_POOL_SIZE, CONNECTIONS);
      options.remove(CatalogUtil.ICEBERG_CATALOG_TYPE);
      options.put(CatalogProperties.CATALOG_IMPL, PromptJdbcCatalog.class.getName());
    }
    return options;
  }

  @Override
  public void setConf(Object conf) {
    store.conf = conf;
    super.setConf(conf);
  }

  @Override
  protected TableOperations newTableOps(TableIdentifier table) {
    return new PromptOperations(super.newTableOps(table), store.files());
  }

  @Override
  public TableOperations operations(TableIdentifier table) {
    return newTableOps(table);
  }

  @Override
  public Optional<String> metadataLocation(TableIdentifier table) {
    return new PointerRows(store.connections(), name()).location(table);
  }

  @Override
  public boolean move(List<MetadataMove> moves) {
    return new PointerRows(store.connections(), name()).move(moves);
  }
}
