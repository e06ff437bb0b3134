package io.keylake.spark.table;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.catalog.SqlDefinition;
import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.merge.MergeInfoType;
import io.keylake.spark.scan.KeyedScanBuilder;
import io.keylake.spark.scan.ReadRange;
import io.keylake.spark.write.KeyedWriteBuilder;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.SpecProperties;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.Schema;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * A keyed table as Spark sees it: its user columns, merged when read, merged into when written. It
 * is an Iceberg table still, so that Iceberg's own statements (branches, tags, procedures) work on
 * it.
 *
 * <p>It accepts any schema, so that Spark fills nothing in for columns that written rows lack: a
 * statement that reads and writes the table has one table for both. {@code KeyedWriteRule} prepares
 * the rows and then puts a prepared table in the place of the target.
 */
public final class KeyedTable extends SparkTable {
  /** The name of the class, whose room stands on this one. */
  private static final String EXTENSIONS = "io.keylake.spark.KeylakeExtensions";

  private static final Set<String> OPTIONS_OF_OTHER_READS =
      Set.of(
          "snapshot-id",
          "as-of-timestamp",
          "branch",
          "tag",
          "start-snapshot-id",
          "end-snapshot-id",
          "scan-task-set-id");

  /** Spark names the constraint of a key so, if nobody does. */
  private static final String KEY = "primary_key";

  /** Properties of Iceberg that are not set but follow from the table. */
  private static final Set<String> DERIVED =
      Set.of("format", "current-snapshot-id", "sort-order", "identifier-fields", "table_type");

  private static final Set<String> POLICIES =
      Set.of(CompactionPolicy.PROPERTY, RetentionPolicy.PROPERTY);

  private final SparkTable loaded;
  private final KeyedSchema keyed;
  private final Rows rows;

  /**
   * How far the rows that are to be written are: prepared, and then spread over tasks in some way.
   */
  public enum Rows {
    AS_GIVEN,
    PREPARED,
    BY_HASH,
    BY_RANGE
  }

  private KeyedTable(SparkTable loaded, KeyedSchema keyed, Rows rows) {
    super(loaded.table());
    this.loaded = loaded;
    this.keyed = keyed;
    this.rows = rows;
  }

  public static KeyedTable of(SparkTable loaded) {
    Long snapshot = loaded.snapshotId();
    boolean isHead = loaded.branch() == null && Objects.equals(snapshot, headOf(loaded));
    Schema schema =
        isHead || snapshot == null
            ? loaded.table().schema()
            : SnapshotUtil.schemaFor(loaded.table(), snapshot);
    Schema effective = loaded.branch() == null ? schema : loaded.table().schema();
    return new KeyedTable(loaded, KeyedSchema.of(loaded.table(), effective), Rows.AS_GIVEN);
  }

  private static @Nullable Long headOf(SparkTable loaded) {
    return loaded.table().currentSnapshot() == null
        ? null
        : loaded.table().currentSnapshot().snapshotId();
  }

  /** The same table, as the target of rows that are so far. */
  public KeyedTable taking(Rows next) {
    return new KeyedTable(loaded, keyed, next);
  }

  public Rows rows() {
    return rows;
  }

  public KeyedSchema keyed() {
    return keyed;
  }

  /** A mention of a table in a plan with an option more, of which its scan is told. */
  public static DataSourceV2Relation with(
      DataSourceV2Relation relation, String option, String value) {
    Map<String, String> options = new HashMap<>(relation.options().asCaseSensitiveMap());
    options.put(option, value);
    return relation.copy(
        relation.table(),
        relation.output(),
        relation.catalog(),
        relation.identifier(),
        new CaseInsensitiveStringMap(options),
        relation.timeTravelSpec());
  }

  /** A mention of the table in a plan, as this form of it. */
  public DataSourceV2Relation inPlaceOf(DataSourceV2Relation relation) {
    return relation.copy(
        this,
        relation.output(),
        relation.catalog(),
        relation.identifier(),
        relation.options(),
        relation.timeTravelSpec());
  }

  @Override
  @SuppressWarnings(
      "deprecation") // what is left of its callers must not see the hidden columns either
  public StructType schema() {
    return SparkSchemaUtil.convert(keyed.visible());
  }

  @Override
  public Column[] columns() {
    return CatalogV2Util.structTypeToV2Columns(schema());
  }

  @Override
  public SparkTable copyWithBranch(String branch) {
    return of(loaded.copyWithBranch(branch));
  }

  @Override
  public Long snapshotId() {
    return loaded.snapshotId();
  }

  @Override
  public String branch() {
    return loaded.branch();
  }

  @Override
  public String version() {
    return loaded.version();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(
        TableCapability.BATCH_READ,
        TableCapability.BATCH_WRITE,
        TableCapability.OVERWRITE_BY_FILTER,
        TableCapability.TRUNCATE,
        TableCapability.ACCEPT_ANY_SCHEMA);
  }

  /** A stored bucket is shown as what it is made of. */
  @Override
  public Transform[] partitioning() {
    if (!keyed.hasBucketColumn()) {
      return loaded.partitioning();
    }
    List<Transform> transforms = new ArrayList<>();
    keyed.spec().partitionBy().forEach(name -> transforms.add(Expressions.identity(quoted(name))));
    transforms.add(
        Expressions.bucket(
            keyed.spec().buckets(),
            keyed.spec().bucketBy().stream().map(KeyedTable::quoted).toArray(String[]::new)));
    return transforms.toArray(Transform[]::new);
  }

  /** Not enforced, in the words of SQL: a row whose key is there already is no error. */
  @Override
  public Constraint[] constraints() {
    NamedReference[] key =
        keyed.spec().key().stream()
            .map(name -> Expressions.column(quoted(name)))
            .toArray(NamedReference[]::new);
    return new Constraint[] {Constraint.primaryKey(KEY, key).enforced(false).build()};
  }

  /** What SHOW CREATE TABLE puts into a statement that makes the same table. */
  @Override
  public Map<String, String> properties() {
    Map<String, String> shown = new HashMap<>(super.properties());
    shown.keySet().removeIf(KeyedTable::isDerived);
    shown.put(TableCatalog.PROP_PROVIDER, SqlDefinition.PROVIDER);
    // Its place follows from its name; another table cannot take it.
    shown.put(TableCatalog.PROP_IS_MANAGED_LOCATION, "true");
    shown.putAll(SpecProperties.write(keyed.spec()));
    return shown;
  }

  private static boolean isDerived(String property) {
    boolean isOurs = property.startsWith("keylake.");
    return DERIVED.contains(property) || (isOurs && !POLICIES.contains(property));
  }

  private static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    List<MetadataColumn> columns = new ArrayList<>();
    columns.add(
        new Hidden(
            KeyedSchema.MERGE_INFO,
            MergeInfoType.of(keyed),
            "Versions of the merged row and its values."));
    columns.add(new Hidden(KeyedSchema.BUCKET, DataTypes.IntegerType, "Bucket of the row's key."));
    if (keyed.hasGroups()) {
      columns.add(new Hidden(KeyedSchema.GROUP, DataTypes.IntegerType, "Group of the row's key."));
    }
    columns.add(
        new Hidden(
            KeyedSchema.IS_DELETED,
            DataTypes.BooleanType,
            "Whether the key was deleted, in a read of what was written after a commit."));
    return columns.toArray(MetadataColumn[]::new);
  }

  private record Hidden(String name, DataType dataType, String comment) implements MetadataColumn {
    @Override
    public boolean isNullable() {
      return false;
    }
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    for (String option : OPTIONS_OF_OTHER_READS) {
      if (options.containsKey(option)) {
        throw new KeylakeException(
            UNSUPPORTED,
            "the read option '%s' is not supported on keyed table %s; write SELECT ... VERSION AS OF, or TIMESTAMP AS OF"
                .formatted(option, name()));
      }
    }
    ReadRange range = ReadRange.of(options, snapshotId());
    return new KeyedScanBuilder(
        spark(),
        table(),
        keyed,
        range == null ? snapshotId() : range.until(),
        range == null ? null : range.after(),
        schema(),
        options);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    if (rows == Rows.AS_GIVEN) {
      throw new KeylakeException(
          UNSUPPORTED,
          "this kind of write to keyed table %s is not supported; use INSERT INTO, writeTo(...).append() or the verbs of the SDK (and see that spark.sql.extensions has %s)"
              .formatted(name(), EXTENSIONS));
    }
    loaded.newWriteBuilder(
        info); // refuses what Iceberg refuses: time travel, a tag, a branch that is not there
    String target = SessionSettings.writeBranch(spark(), table(), branch(), info.options());
    if (!Objects.equals(target, branch()) && info.options().get("branch") == null) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the session's write-audit-publish branch '%s' is not supported on keyed table %s; write to the table's branch_%s"
              .formatted(target, name(), target));
    }
    return new KeyedWriteBuilder(spark(), table(), target, keyed, info, rows == Rows.BY_RANGE);
  }

  /** Refuses a time to read that has not come yet: the table may have other rows then. */
  public void checkNotAfter(Instant now, Instant time) {
    if (time.isAfter(now)) {
      throw new KeylakeException(
          DEFINITION,
          "%s lies in the future (the server's clock says %s), where %s may have other rows; its newest commit is of %s; leave the time out to read that"
              .formatted(
                  time,
                  now.truncatedTo(ChronoUnit.SECONDS),
                  name(),
                  Instant.ofEpochMilli(table().currentSnapshot().timestampMillis())));
    }
  }

  KeylakeException noRowLevel(String statement) {
    return new KeylakeException(
        UNSUPPORTED,
        "%s in SQL is not supported on keyed table %s: its rows are versioned; use delete() or update() of the SDK, or INSERT INTO"
            .formatted(statement, name()));
  }

  @Override
  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    throw noRowLevel(info.command().toString());
  }

  @Override
  public boolean canDeleteWhere(Predicate[] predicates) {
    throw noRowLevel("DELETE");
  }

  @Override
  public void deleteWhere(Predicate[] predicates) {
    throw noRowLevel("DELETE");
  }

  @Override
  public boolean truncateTable() {
    throw noRowLevel("TRUNCATE");
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KeyedTable that && loaded.equals(that.loaded) && rows == that.rows;
  }

  @Override
  public int hashCode() {
    return Objects.hash(loaded, rows);
  }
}
