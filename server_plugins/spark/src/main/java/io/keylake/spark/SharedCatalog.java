package io.keylake.spark;

import io.keylake.tables.StoreFailure;
import io.keylake.tables.Tries;
import io.keylake.tables.spec.KeyedSchema;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.spark.SparkCatalog;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * An Iceberg catalog that others use at the same time, and that may not answer: what somebody else
 * has created meanwhile is there already, and questions without an answer have a sentence. An
 * answer can be lost behind what was done, so after a failure the catalog is asked whether a keyed
 * table is dropped, renamed or has its properties.
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
  public boolean dropTable(Identifier ident) {
    return isDropped(ident, () -> super.dropTable(ident));
  }

  @Override
  public boolean purgeTable(Identifier ident) {
    return isDropped(ident, () -> super.purgeTable(ident));
  }

  private boolean isDropped(Identifier ident, BooleanSupplier drop) {
    boolean isKeyed = before(ident) != null;
    try {
      return drop.getAsBoolean() || (isKeyed && keyed(ident) == null);
    } catch (RuntimeException e) {
      if (isKeyed && keyed(ident) == null) {
        return true;
      }
      throw StoreFailure.asking(name(), e);
    }
  }

  @Override
  public void renameTable(Identifier from, Identifier to)
      throws NoSuchTableException, TableAlreadyExistsException {
    org.apache.iceberg.Table before = before(from);
    try {
      super.renameTable(from, to);
    } catch (NoSuchTableException | TableAlreadyExistsException | RuntimeException e) {
      if (before == null || keyed(from) != null) {
        throw e;
      }
      org.apache.iceberg.Table after = keyed(to);
      if (after == null || !after.uuid().equals(before.uuid())) {
        throw e;
      }
    }
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    try {
      return super.alterTable(ident, changes);
    } catch (RuntimeException e) {
      org.apache.iceberg.Table now = keyed(ident);
      if (now == null || !Arrays.stream(changes).allMatch(each -> isMade(now, each))) {
        throw e;
      }
      return super.loadTable(ident);
    }
  }

  private static boolean isMade(org.apache.iceberg.Table now, TableChange change) {
    if (change instanceof TableChange.SetProperty set) {
      return set.value().equals(now.properties().get(set.property()));
    }
    return change instanceof TableChange.RemoveProperty removal
        && !now.properties().containsKey(removal.property());
  }

  /** The same before a change; null also where it cannot be read: such a table can be dropped. */
  private org.apache.iceberg.@Nullable Table before(Identifier ident) {
    try {
      return keyed(ident);
    } catch (RuntimeException e) {
      return null;
    }
  }

  /** The keyed table of a name, as the catalog has it now; null where none has it. */
  private org.apache.iceberg.@Nullable Table keyed(Identifier ident) {
    try {
      super.invalidateTable(ident);
      org.apache.iceberg.Table table = icebergCatalog().loadTable(buildIdentifier(ident));
      return KeyedSchema.isKeyed(table) ? table : null;
    } catch (org.apache.iceberg.exceptions.NoSuchTableException e) {
      return null;
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
