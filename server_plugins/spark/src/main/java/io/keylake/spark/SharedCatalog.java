package io.keylake.spark;

import io.keylake.tables.StoreFailure;
import io.keylake.tables.Tries;
import java.sql.SQLException;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.spark.SparkCatalog;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * An Iceberg catalog that others use at the same time, and that may not answer: what somebody else
 * has created meanwhile is there already, and questions without an answer have a sentence.
 */
abstract class SharedCatalog extends SparkCatalog {
  private static final int MOST_ATTEMPTS = 10;

  /**
   * Opens a catalog. The first clients of one that keeps its state in a database create the tables
   * of the database; all but one find that they are there, or locked.
   */
  @Override
  protected Catalog buildIcebergCatalog(String name, CaseInsensitiveStringMap options) {
    for (int attempt = 1; ; attempt++) {
      try {
        return super.buildIcebergCatalog(name, options);
      } catch (RuntimeException e) {
        if (!isOfDatabase(e) || attempt == MOST_ATTEMPTS || !Tries.isPaused(attempt)) {
          throw StoreFailure.asking(name, e);
        }
      }
    }
  }

  private static boolean isOfDatabase(Throwable failure) {
    return Stream.iterate(failure, each -> each != null, Throwable::getCause)
        .anyMatch(SQLException.class::isInstance);
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata)
      throws NamespaceAlreadyExistsException {
    try {
      super.createNamespace(namespace, metadata);
    } catch (RuntimeException e) {
      if (isThere(namespace)) {
        throw new NamespaceAlreadyExistsException(namespace);
      }
      throw e;
    }
  }

  private boolean isThere(String[] namespace) {
    try {
      return namespaceExists(namespace);
    } catch (RuntimeException e) {
      return false; // the first failure tells more
    }
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    return answered(() -> super.listTables(namespace));
  }

  @Override
  public Identifier[] listViews(String... namespace) {
    return answered(() -> super.listViews(namespace));
  }

  @Override
  public String[][] listNamespaces() {
    return answered(super::listNamespaces);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    try {
      return super.listNamespaces(namespace);
    } catch (RuntimeException e) {
      throw StoreFailure.asking(name(), e);
    }
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace)
      throws NoSuchNamespaceException {
    try {
      return super.loadNamespaceMetadata(namespace);
    } catch (RuntimeException e) {
      throw StoreFailure.asking(name(), e);
    }
  }

  private <T> T answered(Supplier<T> question) {
    try {
      return question.get();
    } catch (RuntimeException e) {
      throw StoreFailure.asking(name(), e);
    }
  }
}
