package io.keylake.conformance;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.rest.RESTCatalog;

/** The catalog of a server that runs: KEYLAKE_CATALOG is its address. */
final class ServedCatalog {
  private ServedCatalog() {}

  static RESTCatalog open(Map<String, String> properties) {
    Map<String, String> all = new HashMap<>(properties);
    all.put(CatalogProperties.URI, System.getenv("KEYLAKE_CATALOG"));
    all.put("token", System.getenv("KEYLAKE_TOKEN"));
    all.put(CatalogProperties.WAREHOUSE_LOCATION, "lake");
    RESTCatalog catalog = new RESTCatalog();
    catalog.setConf(new Configuration());
    catalog.initialize("served", all);
    return catalog;
  }

  /** Drops what a test has left. */
  static void empty(RESTCatalog catalog) {
    for (Namespace namespace : catalog.listNamespaces()) {
      empty(catalog, namespace);
    }
  }

  private static void empty(RESTCatalog catalog, Namespace namespace) {
    catalog.listNamespaces(namespace).forEach(inner -> empty(catalog, inner));
    catalog.listTables(namespace).forEach(table -> catalog.dropTable(table, false));
    catalog.listViews(namespace).forEach(catalog::dropView);
    catalog.dropNamespace(namespace);
  }
}
