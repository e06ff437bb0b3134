package io.keylake.spark;

import static io.keylake.tables.KeylakeException.Kind.OUTCOME_UNKNOWN;

import io.keylake.spark.access.SeenNames;
import io.keylake.spark.mergedstate.MergedStates;
import io.keylake.spark.rest.http.MergingClient;
import io.keylake.tables.Backoff;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.NoAnswer;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.catalogs.PromptJdbcCatalog;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.spec.KeyedSchema;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.spark.SparkCatalog;
import org.apache.iceberg.spark.SparkUtil;
import org.apache.spark.sql.SparkSession;
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
 * answer can be lost behind what was done, and a request on its way, so after a failure the catalog
 * is asked whether a keyed table is dropped, renamed or has its properties; if not, the request is
 * sent again.
 */
abstract class SharedCatalog extends SparkCatalog {
  private static final String BRANCH = "branch_";
  private static final int MOST_ATTEMPTS = 10;

  private @Nullable Catalog shared;
  private Map<String, String> options = Map.of();

  @Override
  protected Catalog buildIcebergCatalog(String name, CaseInsensitiveStringMap given) {
    options = MergingClient.told(PromptJdbcCatalog.inPlaceOfIcebergs(given.asCaseSensitiveMap()));
    Catalog catalog =
        OpenCatalogs.of(name, options, () -> opened(name, new CaseInsensitiveStringMap(options)));
    shared = catalog;
    return catalog;
  }

  /** The store of the catalog's files, opened as its options say. The caller closes it. */
  public FileIO store() {
    return CatalogUtil.loadFileIO(
        options.getOrDefault(CatalogProperties.FILE_IO_IMPL, HadoopFileIO.class.getName()),
        options,
        SparkUtil.hadoopConfCatalogOverrides(SparkSession.active(), name()));
  }

  /** The catalog of Iceberg, without the cache of tables that an option may put around it. */
  public Catalog sharedCatalog() {
    return Objects.requireNonNull(shared, "an initialized catalog");
  }

  /**
   * Opens a catalog. The first clients of one that keeps its state in a database create the tables
   * of the database; all but one find that they are there, or locked.
   */
  private Catalog opened(String name, CaseInsensitiveStringMap options) {
    for (int attempt = 1; ; attempt++) {
      try {
        return super.buildIcebergCatalog(name, options);
      } catch (RuntimeException e) {
        if (!isOfDatabase(e) || attempt == MOST_ATTEMPTS || !Backoff.pause(attempt)) {
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

  /** A table whose metadata file is gone is there: it can be dropped. */
  @Override
  public boolean tableExists(Identifier ident) {
    try {
      return super.tableExists(ident);
    } catch (NotFoundException e) {
      return true;
    } catch (RuntimeException e) {
      throw StoreFailure.loading(name() + "." + ident, e);
    }
  }

  @Override
  public boolean dropTable(Identifier ident) {
    return isDropped(ident, () -> super.dropTable(ident));
  }

  @Override
  public boolean purgeTable(Identifier ident) {
    org.apache.iceberg.Table before = readable(ident);
    boolean isDropped = isDropped(ident, () -> super.purgeTable(ident));
    if (isDropped && before != null) {
      MergedStates.ofProcess().purge(before);
    }
    return isDropped;
  }

  private boolean isDropped(Identifier ident, BooleanSupplier drop) {
    for (int attempt = 1; ; attempt++) {
      try {
        return drop.getAsBoolean();
      } catch (RuntimeException e) {
        if (isGone(ident)) {
          return true;
        }
        if (!isSentAgain(e, attempt)) {
          throw unless("%s was dropped".formatted(ident), e);
        }
      }
    }
  }

  private boolean isGone(Identifier ident) {
    try {
      return !icebergCatalog().tableExists(buildIdentifier(ident));
    } catch (RuntimeException e) {
      return false; // its metadata may be what is gone
    }
  }

  @Override
  public void renameTable(Identifier from, Identifier to)
      throws NoSuchTableException, TableAlreadyExistsException {
    org.apache.iceberg.Table before = readable(from);
    if (before == null) {
      super.renameTable(from, to);
    } else {
      rename(before, from, withoutCatalog(to));
    }
  }

  private void rename(org.apache.iceberg.Table before, Identifier from, Identifier to)
      throws NoSuchTableException, TableAlreadyExistsException {
    for (int attempt = 1; ; attempt++) {
      try {
        super.renameTable(from, to);
        return;
      } catch (NoSuchTableException | TableAlreadyExistsException | RuntimeException e) {
        org.apache.iceberg.Table after = readable(to);
        if (after != null && after.uuid().equals(before.uuid())) {
          return;
        }
        if (!isSentAgain(e, attempt)) {
          if (e instanceof RuntimeException unchecked) {
            throw unless("%s was renamed to %s".formatted(from, to), unchecked);
          }
          throw e;
        }
      }
    }
  }

  /** Spark takes the catalog in front of a new name for a namespace. */
  private Identifier withoutCatalog(Identifier to) {
    String[] namespace = to.namespace();
    boolean hasCatalog = namespace.length > 1 && namespace[0].equals(name()) && !isThere(namespace);
    return hasCatalog
        ? Identifier.of(Arrays.copyOfRange(namespace, 1, namespace.length), to.name())
        : to;
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    for (int attempt = 1; ; attempt++) {
      try {
        return super.alterTable(ident, changes);
      } catch (RuntimeException e) {
        org.apache.iceberg.Table now = readable(ident);
        if (now == null || !Arrays.stream(changes).allMatch(SharedCatalog::isOfProperty)) {
          throw e;
        }
        if (Arrays.stream(changes).allMatch(each -> isMade(now, each))) {
          return super.loadTable(ident);
        }
        if (!isSentAgain(e, attempt)) {
          throw unless("%s has the properties".formatted(ident), e);
        }
      }
    }
  }

  /** A request may have got lost, so that it is sent once more. */
  private static boolean isSentAgain(Throwable failure, int attempt) {
    return isOpen(failure) && attempt < MOST_ATTEMPTS && Backoff.pause(attempt);
  }

  private static boolean isOpen(Throwable failure) {
    return failure instanceof CommitStateUnknownException || NoAnswer.in(failure).isPresent();
  }

  /**
   * The failure, unless it leaves open what became of a change.
   *
   * @param what is not known then
   */
  private static RuntimeException unless(String what, RuntimeException failure) {
    return isOpen(failure)
        ? new KeylakeException(
            OUTCOME_UNKNOWN,
            "whether %s is not known, because the catalog does not say it (%s); look whether it is so before you do it again"
                .formatted(what, NoAnswer.in(failure).map(NoAnswer::reason).orElse("no reason")),
            failure)
        : failure;
  }

  private static boolean isOfProperty(TableChange change) {
    return change instanceof TableChange.SetProperty
        || change instanceof TableChange.RemoveProperty;
  }

  private static boolean isMade(org.apache.iceberg.Table now, TableChange change) {
    if (change instanceof TableChange.SetProperty set) {
      return set.value().equals(now.properties().get(set.property()));
    }
    return change instanceof TableChange.RemoveProperty removal
        && !now.properties().containsKey(removal.property());
  }

  /** The same; null also where it cannot be read. */
  private org.apache.iceberg.@Nullable Table readable(Identifier ident) {
    try {
      return keyed(ident);
    } catch (RuntimeException e) {
      return null;
    }
  }

  /**
   * The sentence about a branch that a keyed table does not have; Iceberg has a class of its own.
   */
  final RuntimeException branchOr(RuntimeException failure, Identifier ident) {
    String[] parent = ident.namespace();
    if (!(failure instanceof ValidationException)
        || !ident.name().startsWith(BRANCH)
        || parent.length < 2) {
      return failure;
    }
    int last = parent.length - 1;
    org.apache.iceberg.Table table =
        readable(Identifier.of(Arrays.copyOf(parent, last), parent[last]));
    String branch = ident.name().substring(BRANCH.length());
    return table == null || table.refs().containsKey(branch)
        ? failure
        : CommitLog.noBranch(table.name(), branch, table.refs().keySet());
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
    return SeenNames.tables(name(), answered(() -> super.listTables(namespace)));
  }

  @Override
  public Identifier[] listViews(String... namespace) {
    return SeenNames.tables(name(), answered(() -> super.listViews(namespace)));
  }

  @Override
  public String[][] listNamespaces() {
    return SeenNames.namespaces(name(), answered(super::listNamespaces));
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    try {
      return SeenNames.namespaces(name(), super.listNamespaces(namespace));
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
