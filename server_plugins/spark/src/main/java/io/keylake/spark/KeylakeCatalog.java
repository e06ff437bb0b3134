package io.keylake.spark;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.catalog.SqlDefinition;
import io.keylake.spark.catalog.TableNames;
import io.keylake.spark.keys.KeyBucketFunction;
import io.keylake.spark.maintenance.Maintenance;
import io.keylake.spark.metadata.MetadataTable;
import io.keylake.spark.metadata.Part;
import io.keylake.spark.procedures.KeylakeProcedures;
import io.keylake.spark.rules.ReadOptionsRule;
import io.keylake.spark.table.ChangesTable;
import io.keylake.spark.table.KeyedTable;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.spec.TableSpec;
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
import org.apache.iceberg.Schema;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.spark.Spark3Util;
import org.apache.iceberg.spark.SparkCatalog;
import org.apache.iceberg.spark.SparkSchemaUtil;
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
import org.apache.spark.sql.connector.catalog.TableCatalog;
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
public final class KeylakeCatalog extends SparkCatalog implements KeyedCatalog {
  private static final String[] SYSTEM = {"system"};

  private @Nullable KeylakeProcedures procedures;
  private TablePlaces places = TablePlaces.of(CaseInsensitiveStringMap.empty());
  private boolean isLookedAt;

  @Override
  protected Catalog buildIcebergCatalog(String name, CaseInsensitiveStringMap options) {
    places = TablePlaces.of(options);
    return super.buildIcebergCatalog(name, options);
  }

  /** What a catalog's tables need is looked at when it is first used, as after a restart. */
  private void lookOnce() {
    if (!isLookedAt) {
      isLookedAt = true;
      Maintenance maintenance = Maintenance.of(SparkSession.active().sparkContext());
      if (maintenance != null) {
        maintenance.lookAtAll(name(), () -> lookAtAll(maintenance));
      }
    }
  }

  private void lookAtAll(Maintenance maintenance) {
    for (TableIdentifier ident : tablesBelow()) {
      maintenance.look(name() + "." + ident, null, () -> icebergCatalog().loadTable(ident));
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

  /** A table, or a part of a keyed table if there is no table of that name. */
  private Table loaded(Identifier ident, TableLoader loader) throws NoSuchTableException {
    if (ReadOptionsRule.isMention(ident.name())) {
      return loaded(parent(ident), loader);
    }
    try {
      Table loaded = loader.load(ident);
      return loaded instanceof SparkChangelogTable
          ? part(ident, loader).orElse(loaded)
          : keyedIfSo(loaded);
    } catch (NoSuchTableException e) {
      return part(ident, loader).orElseThrow(() -> e);
    } catch (RuntimeException e) {
      throw StoreFailure.loading(name() + "." + ident, e);
    }
  }

  private interface TableLoader {
    Table load(Identifier ident) throws NoSuchTableException;
  }

  /** Iceberg has its own change feed beside each table; keyed tables have theirs, and metadata. */
  private Optional<Table> part(Identifier ident, TableLoader loader) {
    boolean isFeed = ident.name().equalsIgnoreCase(ChangesTable.NAME);
    Optional<Part> part = Part.of(ident.name());
    if (ident.namespace().length == 0 || (part.isEmpty() && !isFeed)) {
      return Optional.empty();
    }
    try {
      Table of = keyedIfSo(loader.load(parent(ident)));
      if (!(of instanceof KeyedTable keyed)) {
        return Optional.empty();
      }
      return Optional.of(
          isFeed
              ? new ChangesTable(keyed)
              : new MetadataTable(keyed.table(), keyed.keyed(), keyed.snapshotId(), part.get()));
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
    boolean isKeyed = table instanceof SparkTable spark && KeyedSchema.isKeyed(spark.table());
    return isKeyed && !(table instanceof KeyedTable) ? KeyedTable.of((SparkTable) table) : table;
  }

  /** CREATE TABLE ... USING keylake makes a keyed table, and so does a spec in the properties. */
  @Override
  public Table createTable(Identifier ident, TableInfo info) throws TableAlreadyExistsException {
    TableDefinition definition = definition(info);
    if (definition == null) {
      checkPlain(super.stageCreate(ident, info));
      return super.createTable(ident, info);
    }
    try {
      return create(buildIdentifier(ident), definition, SqlDefinition.kept(info.properties()));
    } catch (AlreadyExistsException e) {
      throw new TableAlreadyExistsException(ident);
    }
  }

  /** Of the keyed table that a statement defines; null for one that makes a plain table. */
  private static @Nullable TableDefinition definition(TableInfo info) {
    KeyedProperties.checkCreated(info.properties(), SqlDefinition.isOne(info));
    if (SqlDefinition.isOne(info)) {
      return SqlDefinition.of(info);
    }
    SqlDefinition.checkPlain(info);
    String spec = info.properties().get(TableSpec.PROPERTY);
    if (spec == null) {
      return null;
    }
    if (info.partitions().length > 0) {
      throw new KeylakeException(
          DEFINITION,
          "a keyed table is partitioned by its spec (buckets, bucket_by, partition_by); drop PARTITIONED BY");
    }
    Schema columns = SparkSchemaUtil.convert(info.schema());
    return new TableDefinition(TableSpec.fromJson(spec), columns, "");
  }

  @Override
  public Set<TableCatalogCapability> capabilities() {
    return Set.of(TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT);
  }

  /** Creates a keyed table; {@link AlreadyExistsException} when there is one of that name. */
  public Table create(
      TableIdentifier ident, TableDefinition definition, Map<String, String> given) {
    TableNames.check(ident);
    Schema schema = definition.icebergSchema();
    Catalog.TableBuilder builder =
        icebergCatalog()
            .buildTable(ident, schema)
            .withPartitionSpec(definition.partitionSpec(schema))
            .withSortOrder(definition.sortOrder(schema))
            .withProperties(
                definition.properties(Spark3Util.rebuildCreateProperties(new HashMap<>(given))));
    return keyedIfSo(
        new SparkTable(places.placed(builder, given.get(TableCatalog.PROP_LOCATION)).create()));
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
      createNamespace(namespace, Map.of());
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
    } catch (NoSuchNamespaceException e) {
      // dropped meanwhile
    }
    return tables;
  }

  @Override
  public StagedTable stageCreate(Identifier ident, TableInfo info)
      throws TableAlreadyExistsException {
    refuseKeyed(info);
    return checkPlain(super.stageCreate(ident, info));
  }

  @Override
  public StagedTable stageReplace(Identifier ident, TableInfo info) throws NoSuchTableException {
    refuseReplacing(ident, info);
    return checkPlain(super.stageReplace(ident, info));
  }

  @Override
  public StagedTable stageCreateOrReplace(Identifier ident, TableInfo info) {
    refuseReplacing(ident, info);
    return checkPlain(super.stageCreateOrReplace(ident, info));
  }

  private StagedTable checkPlain(StagedTable staged) {
    places.checkPlain(((SparkTable) staged).table());
    return staged;
  }

  private static void refuseKeyed(TableInfo info) {
    if (SqlDefinition.isOne(info) || info.properties().containsKey(TableSpec.PROPERTY)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "a keyed table cannot be created or replaced together with its rows; create it, then INSERT INTO it");
    }
    KeyedProperties.checkCreated(info.properties(), false);
    SqlDefinition.checkPlain(info);
  }

  private void refuseReplacing(Identifier ident, TableInfo info) {
    refuseKeyed(info);
    try {
      if (loadTable(ident) instanceof KeyedTable) {
        throw new KeylakeException(
            UNSUPPORTED,
            "keyed table %s cannot be replaced; drop it, or overwrite it".formatted(ident));
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
      if (table instanceof KeyedTable keyed) {
        checkChange(ident, change);
        places.check(keyed.table(), change);
      }
    }
    return keyedIfSo(super.alterTable(ident, changes));
  }

  private static void checkChange(Identifier ident, TableChange change) {
    boolean isComment = change instanceof TableChange.UpdateColumnComment;
    if (change instanceof TableChange.ColumnChange && !isComment) {
      throw new KeylakeException(
          UNSUPPORTED,
          "columns of keyed table %s cannot be added, dropped, renamed or retyped yet; create a new table and copy"
              .formatted(ident));
    }
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
    return own == null ? procedures().guarded(super.loadProcedure(ident), ident.name()) : own;
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
