package io.keylake.spark;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.access.SeenNames;
import io.keylake.spark.catalog.ColumnChanges;
import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.catalog.KeyedProperties;
import io.keylake.spark.catalog.SqlDefinition;
import io.keylake.spark.catalog.TableNames;
import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.extension.Guests;
import io.keylake.spark.guard.procedures.CheckedProcedure;
import io.keylake.spark.keys.KeyBucketFunction;
import io.keylake.spark.maintenance.Maintenance;
import io.keylake.spark.metadata.MetadataTable;
import io.keylake.spark.metadata.Part;
import io.keylake.spark.procedures.KeylakeProcedures;
import io.keylake.spark.table.ChangesTable;
import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.table.ReadOptionsRule;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.spark.source.SparkChangelogTable;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * An Iceberg catalog in which tables with a keylake spec are keyed tables. Any Iceberg catalog can
 * be behind it (its options are passed on), and tables without a spec are as they were. Servers
 * that share a warehouse set {@code cache-enabled=false}, so that a read sees what the others have
 * committed.
 */
@SuppressWarnings(
    "deprecation") // Iceberg's catalog implements the methods that Spark's newer ones come down to
public final class KeylakeCatalog extends SharedCatalog implements KeyedCatalog {
  private static final String[] SYSTEM = {"system"};

  private @Nullable KeylakeProcedures procedures;
  private TablePlaces places = TablePlaces.of(CaseInsensitiveStringMap.empty());
  private boolean isLookedAt;

  @Override
  protected Catalog buildIcebergCatalog(String name, CaseInsensitiveStringMap options) {
    places = TablePlaces.of(options);
    return super.buildIcebergCatalog(name, options);
  }

  /** Maintenance looks at the tables of a catalog when it is first used, as after a restart. */
  private void lookOnce() {
    if (!isLookedAt) {
      isLookedAt = true;
      Maintenance maintenance = Maintenance.of(SparkSession.active().sparkContext());
      if (maintenance != null) {
        maintenance.lookAtAll(name(), () -> tablesBelow(), icebergCatalog()::loadTable);
      }
    }
  }

  @Override
  public Table loadTable(Identifier ident) throws NoSuchTableException {
    lookOnce();
    return loaded(ident, super::loadTable);
  }

  @Override
  public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
    return loaded(ident, name -> super.loadTable(name, version));
  }

  @Override
  public Table loadTable(Identifier ident, long timestampMicros) throws NoSuchTableException {
    Instant now = Instant.now();
    Table loaded = loaded(ident, name -> super.loadTable(name, timestampMicros));
    if (loaded instanceof KeyedTable keyed) {
      keyed.checkNotAfter(now, Instant.EPOCH.plus(timestampMicros, ChronoUnit.MICROS));
    }
    return loaded;
  }

  /** An experiment is written to like a table, which Spark would create where there is none. */
  @Override
  public boolean tableExists(Identifier ident) {
    return super.tableExists(ident)
        || (TableNames.experiments(ident.name()).isPresent()
            && part(ident, super::loadTable).isPresent());
  }

  /** A table, or a part of a keyed table if there is no table of that name. */
  private Table loaded(Identifier named, TableLoader loader) throws NoSuchTableException {
    Identifier ident = ReadOptionsRule.withoutMention(named);
    if (!SeenNames.isSeen(name(), ident)) {
      throw new NoSuchTableException(ident);
    }
    try {
      Table loaded = loader.load(ident);
      return loaded instanceof SparkChangelogTable
          ? part(ident, loader).orElse(loaded)
          : watched(ident, keyedIfSo(loaded));
    } catch (NoSuchTableException e) {
      return part(ident, loader).orElseThrow(() -> e);
    } catch (RuntimeException e) {
      throw StoreFailure.loading(name() + "." + ident, branchOr(e, ident));
    }
  }

  private interface TableLoader {
    Table load(Identifier ident) throws NoSuchTableException;
  }

  /** Iceberg has its own change feed beside each table; keyed tables have theirs, and metadata. */
  private Optional<Table> part(Identifier ident, TableLoader loader) {
    boolean isFeed = ident.name().equalsIgnoreCase(ChangesTable.NAME);
    Optional<Part> part = Part.of(ident.name());
    Optional<List<String>> experiments = TableNames.experiments(ident.name());
    if (ident.namespace().length == 0 || (part.isEmpty() && experiments.isEmpty() && !isFeed)) {
      return Optional.empty();
    }
    try {
      if (!(loaded(parent(ident), loader) instanceof KeyedTable keyed)) {
        return Optional.empty();
      }
      if (experiments.isPresent()) {
        return Optional.of(keyed.withExperiments(experiments.get()));
      }
      return Optional.of(
          isFeed
              ? new ChangesTable(keyed)
              : new MetadataTable(keyed.table(), keyed.stored(), keyed.snapshotId(), part.get()));
    } catch (NoSuchTableException e) {
      return Optional.empty();
    }
  }

  /** The table that a part of it, or a mention of it, belongs to. */
  private static Identifier parent(Identifier ident) {
    String[] path = ident.namespace();
    return Identifier.of(Arrays.copyOf(path, path.length - 1), path[path.length - 1]);
  }

  private static Table keyedIfSo(Table table) {
    if (!(table instanceof SparkTable loaded) || table instanceof KeyedTable) {
      return table;
    }
    SparkTable then = KeyedTable.asOfItsTime(loaded);
    return KeyedSchema.isKeyed(then.table()) ? KeyedTable.of(then) : Guests.loaded().plain(then);
  }

  /** Maintenance learns here of properties that another engine has set on a plain table. */
  private Table watched(Identifier ident, Table loaded) {
    if (loaded instanceof SparkTable table) {
      TableIdentifier id = buildIdentifier(ident);
      Maintenance.watch(name() + "." + id, table.table(), () -> icebergCatalog().loadTable(id));
    }
    return loaded;
  }

  /** CREATE TABLE ... USING keylake makes a keyed table, and so does a spec in the properties. */
  @Override
  public Table createTable(Identifier ident, TableInfo info) throws TableAlreadyExistsException {
    TableDefinition definition = SqlDefinition.of(info);
    if (definition == null) {
      checkPlain(super.stageCreate(ident, info));
      return super.createTable(ident, info);
    }
    try {
      Map<String, String> kept = SqlDefinition.kept(info.properties());
      return keyedIfSo(new SparkTable(create(buildIdentifier(ident), definition, kept)));
    } catch (AlreadyExistsException e) {
      throw new TableAlreadyExistsException(ident);
    }
  }

  @Override
  public Set<TableCatalogCapability> capabilities() {
    return Set.of(
        TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT,
        TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE);
  }

  @Override
  public org.apache.iceberg.Table create(
      TableIdentifier ident, TableDefinition definition, Map<String, String> given) {
    return newTables().create(ident, definition, given);
  }

  private NewTables newTables() {
    return new NewTables(name(), icebergCatalog(), places);
  }

  /** Makes the namespaces of a table that are not there yet. */
  public void createNamespaces(TableIdentifier ident) {
    String[] levels = ident.namespace().levels();
    for (int length = 1; length <= levels.length; length++) {
      String[] namespace = Arrays.copyOf(levels, length);
      if (!namespaceExists(namespace)) {
        createUnlessThere(namespace);
      }
    }
  }

  private void createUnlessThere(String[] namespace) {
    try {
      createNamespace(namespace, new HashMap<>()); // REST catalogs ask it for a null key
    } catch (NamespaceAlreadyExistsException e) {
      // somebody else was quicker
    }
  }

  /** All tables below a namespace, at any depth. */
  public List<TableIdentifier> tablesBelow(String... namespace) {
    List<TableIdentifier> tables = new ArrayList<>();
    if (namespace.length > 0) {
      Arrays.stream(listTables(namespace)).map(this::buildIdentifier).forEach(tables::add);
    }
    try {
      String[][] children = namespace.length == 0 ? listNamespaces() : listNamespaces(namespace);
      for (String[] child : children) {
        tables.addAll(tablesBelow(child));
      }
    } catch (NoSuchNamespaceException | org.apache.iceberg.exceptions.NoSuchNamespaceException e) {
      // dropped meanwhile, or the folder of a Hadoop catalog before its first table
    }
    return tables;
  }

  @Override
  public StagedTable stageCreate(Identifier ident, TableInfo info)
      throws TableAlreadyExistsException {
    TableDefinition definition = SqlDefinition.of(info);
    if (definition == null) {
      return checkPlain(super.stageCreate(ident, info));
    }
    try {
      return newTables()
          .staged(buildIdentifier(ident), definition, SqlDefinition.kept(info.properties()));
    } catch (AlreadyExistsException e) {
      throw new TableAlreadyExistsException(ident);
    }
  }

  @Override
  public StagedTable stageReplace(Identifier ident, TableInfo info) throws NoSuchTableException {
    TableDefinition definition = SqlDefinition.of(info);
    if (definition == null) {
      checkReplacedByPlain(ident);
      return checkPlain(super.stageReplace(ident, info));
    }
    try {
      TableIdentifier name = buildIdentifier(ident);
      return newTables()
          .replacing(
              name,
              icebergCatalog().loadTable(name),
              definition,
              SqlDefinition.kept(info.properties()));
    } catch (org.apache.iceberg.exceptions.NoSuchTableException e) {
      throw new NoSuchTableException(ident);
    }
  }

  @Override
  public StagedTable stageCreateOrReplace(Identifier ident, TableInfo info) {
    if (SqlDefinition.of(info) == null) {
      checkReplacedByPlain(ident);
      return checkPlain(super.stageCreateOrReplace(ident, info));
    }
    try {
      return tableExists(ident) ? stageReplace(ident, info) : stageCreate(ident, info);
    } catch (NoSuchTableException | TableAlreadyExistsException e) {
      throw new KeylakeException(
          COMMIT_CONFLICT,
          "table %s was created or dropped by somebody else meanwhile; nothing was changed; run the statement again"
              .formatted(ident));
    }
  }

  private StagedTable checkPlain(StagedTable staged) {
    places.checkPlain(((SparkTable) staged).table());
    return staged;
  }

  private void checkReplacedByPlain(Identifier ident) {
    try {
      if (super.loadTable(ident) instanceof SparkTable there
          && KeyedSchema.isKeyed(there.table())) {
        throw new KeylakeException(
            UNSUPPORTED,
            "keyed table %s cannot be replaced by a plain one, which would show its old commits with their hidden columns; write USING keylake with its key, INSERT OVERWRITE it, or drop it first"
                .formatted(ident));
      }
    } catch (NoSuchTableException e) {
      // nothing is replaced
    }
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    Table table = loadTable(ident);
    for (TableChange change : changes) {
      KeyedProperties.checkChanged(ident, table instanceof KeyedTable, change);
    }
    if (!(table instanceof KeyedTable keyed)) {
      return watched(ident, keyedIfSo(super.alterTable(ident, changes)));
    }
    List.of(changes).forEach(change -> places.check(keyed.table(), change));
    keyed.checkIsNoExperiment("properties and no columns that change");
    KeyedProperties.checkIndexesAndLateness(keyed.table(), changes);
    if (!ColumnChanges.make(keyed.table(), ident, changes)
        && !KeyedProperties.make(keyed.table(), changes)) {
      super.alterTable(ident, changes);
    }
    KeyedProperties.noteIndexes(keyed.table(), changes);
    return loadTable(ident);
  }

  @Override
  public boolean dropTable(Identifier ident) {
    checkDrop(ident);
    return super.dropTable(ident);
  }

  @Override
  public boolean purgeTable(Identifier ident) {
    checkDrop(ident);
    return super.purgeTable(ident);
  }

  private void checkDrop(Identifier ident) {
    try {
      if (places.dropsFolders() && super.loadTable(ident) instanceof SparkTable table) {
        places.checkDrop(table.table());
      }
    } catch (NoSuchTableException e) {
      // nothing is dropped
    }
  }

  @Override
  public UnboundProcedure loadProcedure(Identifier ident) {
    lookOnce();
    boolean isOurs =
        ident.namespace().length == 1 && ident.namespace()[0].equalsIgnoreCase("system");
    UnboundProcedure own = isOurs ? procedures().find(ident.name()) : null;
    if (own != null) {
      return new CheckedProcedure(this, List.of()).of(own);
    }
    try {
      return new CheckedProcedure(this, ClassicSession.active().namespace(name()))
          .of(procedures().guarded(super.loadProcedure(ident), ident.name()));
    } catch (RuntimeException e) {
      UnboundProcedure meant = isOurs ? procedures().misspelt(ident.name()) : null;
      if (meant == null) {
        throw e;
      }
      return meant;
    }
  }

  @Override
  public Identifier[] listProcedures(String[] namespace) {
    boolean isOurs =
        namespace.length == 0 || (namespace.length == 1 && namespace[0].equalsIgnoreCase("system"));
    Stream<Identifier> own =
        isOurs
            ? procedures().names().stream().map(name -> Identifier.of(SYSTEM, name))
            : Stream.empty();
    return Stream.concat(own, Arrays.stream(super.listProcedures(namespace)))
        .distinct()
        .toArray(Identifier[]::new);
  }

  private KeylakeProcedures procedures() {
    if (procedures == null) {
      procedures = new KeylakeProcedures(this);
    }
    return procedures;
  }

  @Override
  public UnboundFunction loadFunction(Identifier ident) throws NoSuchFunctionException {
    boolean isOurs =
        ident.namespace().length == 1
            && ident.namespace()[0].equalsIgnoreCase("system")
            && ident.name().equalsIgnoreCase(KeyBucketFunction.NAME);
    return isOurs ? new KeyBucketFunction() : super.loadFunction(ident);
  }
}
