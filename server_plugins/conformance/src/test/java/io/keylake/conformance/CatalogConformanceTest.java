package io.keylake.conformance;

import java.util.Map;
import org.apache.iceberg.catalog.CatalogTests;
import org.apache.iceberg.rest.RESTCatalog;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** Iceberg's tests of catalogs, by Iceberg's client of the REST protocol. */
class CatalogConformanceTest extends CatalogTests<RESTCatalog> {
  private static RESTCatalog catalog;

  @BeforeAll
  static void open() {
    catalog = ServedCatalog.open(Map.of());
  }

  @AfterAll
  static void close() throws Exception {
    catalog.close();
  }

  @AfterEach
  void empty() {
    ServedCatalog.empty(catalog);
  }

  @Override
  protected RESTCatalog catalog() {
    return catalog;
  }

  @Override
  protected RESTCatalog initCatalog(String name, Map<String, String> properties) {
    return ServedCatalog.open(properties);
  }

  /** A catalog in a database keeps the levels of a namespace as one text. */
  @Override
  protected boolean supportsNamesWithDot() {
    return false;
  }

  @Override
  protected boolean requiresNamespaceCreate() {
    return true;
  }

  @Override
  protected boolean supportsServerSideRetry() {
    return true;
  }
}
