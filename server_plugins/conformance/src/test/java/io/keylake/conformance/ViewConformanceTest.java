package io.keylake.conformance;

import java.util.Map;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalog;
import org.apache.iceberg.view.ViewCatalogTests;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** Iceberg's tests of views, by Iceberg's client of the REST protocol. */
class ViewConformanceTest extends ViewCatalogTests<RESTCatalog> {
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
  protected Catalog tableCatalog() {
    return catalog;
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
