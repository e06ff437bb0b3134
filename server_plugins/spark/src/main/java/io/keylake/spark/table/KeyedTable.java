package io.keylake.spark.table;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.read.scan.KeyedScanBuilder;
import io.keylake.spark.read.scan.ReadRange;
import io.keylake.spark.read.scan.RelationOptions;
import io.keylake.spark.read.scan.StatementRead;
import io.keylake.spark.write.KeyedWriteBuilder;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.experiments.Experiments;
import io.keylake.tables.history.OlderDefinition;
import io.keylake.tables.isolation.Isolation.MainRead;
import io.keylake.tables.planning.request.ReadScope;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.staged.PastTable;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.TimeTravel;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
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
public class KeyedTable extends SparkTable {
  /** The name of the class, whose room stands on this one. */
  private static final String EXTENSIONS = "io.keylake.spark.KeylakeExtensions";

  private final SparkTable loaded;
  private final KeyedSchema keyed;
  private final Rows rows;
  private final @Nullable StatementRead statement;
  private final @Nullable ExperimentView view; // null for main and ordinary branches

  private KeyedTable(
      SparkTable loaded,
      KeyedSchema keyed,
      Rows rows,
      @Nullable StatementRead statement,
      @Nullable ExperimentView view) {
    super(loaded.table());
    this.view = view;
    this.loaded = loaded;
    this.keyed = keyed;
    this.rows = rows;
    this.statement = statement;
  }

  /** The target of a write that makes the table. */
  KeyedTable(SparkTable staged) {
    this(staged, KeyedSchema.of(staged.table()), Rows.AS_GIVEN, null, null);
  }

  /** A table that is read at a commit from before it was replaced, with its definition of then. */
  public static SparkTable asOfItsTime(SparkTable loaded) {
    Long snapshot = loaded.snapshotId();
    Table then =
        snapshot == null
            ? loaded.table()
            : PastTable.at(loaded.table(), loaded.table().snapshot(snapshot));
    return then == loaded.table()
        ? loaded
        : SparkTable.create(then, TimeTravel.version(String.valueOf(snapshot)));
  }

  public static KeyedTable of(SparkTable loaded) {
    Table table = loaded.table();
    Experiment own = Experiment.ofBranch(table.properties(), loaded.branch());
    if (own != null) {
      return with(loaded, List.of(own));
    }
    Long snapshot = loaded.snapshotId();
    if (snapshot != null) {
      OlderDefinition.check(table, table.snapshot(snapshot));
    }
    boolean isPresent =
        loaded.branch() != null || snapshot == null || loaded.equals(new SparkTable(table));
    Schema schema = isPresent ? table.schema() : SnapshotUtil.schemaFor(table, snapshot);
    return new KeyedTable(loaded, KeyedSchema.of(table, schema), Rows.AS_GIVEN, null, null);
  }

  private static KeyedTable with(SparkTable loaded, List<Experiment> experiments) {
    ExperimentView view = ExperimentView.of(loaded.table(), experiments);
    return new KeyedTable(loaded, view.read(), Rows.AS_GIVEN, null, view);
  }

  /** The table with experiments, of which one alone can be written to. */
  public KeyedTable withExperiments(List<String> names) {
    List<Experiment> found = names.stream().map(new Experiments(table())::found).toList();
    return found.size() == 1
        ? (KeyedTable) copyWithBranch(found.get(0).branch())
        : with(loaded, found);
  }

  /** The columns of the files that belong to it alone, which are those that writes carry. */
  public KeyedSchema stored() {
    return view == null ? keyed : view.stored(name());
  }

  /** Refuses what an experiment has not. */
  public void checkIsNoExperiment(String what) {
    if (view != null) {
      throw new KeylakeException(
          UNSUPPORTED,
          "an experiment of table %s has no %s; take those of the table itself"
              .formatted(table().name(), what));
    }
  }

  /** The same for rows of a verb. */
  public KeyedSchema writtenBy(WriteOptions.Verb verb) {
    if (view != null) {
      view.check(name(), verb);
    }
    return stored();
  }

  /** The number of buckets of its files, the coarsest of them. */
  public int buckets(CaseInsensitiveStringMap options) {
    return scope(options).buckets(table()).first();
  }

  /** The same table, as the target of rows that are so far. */
  public KeyedTable taking(Rows next) {
    return new KeyedTable(loaded, keyed, next, statement, view);
  }

  /** The same table, as a statement reads and writes it. */
  public KeyedTable readBy(StatementRead changing) {
    return new KeyedTable(loaded, keyed, rows, changing, view);
  }

  /** The read of main beside the branch; null where nothing of main is read. */
  public @Nullable MainRead readOfMain() {
    return view == null ? null : new MainRead(view.main());
  }

  /** The commits whose rows a read gives that names no range of commits. */
  public ReadScope scope() {
    return view == null ? ReadScope.ofSnapshot(snapshotId()) : view.scope();
  }

  private ReadScope scope(CaseInsensitiveStringMap options) {
    ReadRange range = ReadRange.of(options, snapshotId());
    if (!RelationOptions.isOnTime(options)) {
      return range == null ? scope() : ReadScope.ofRange(range.after(), range.until());
    }
    if (range != null || view != null) {
      throw new KeylakeException(
          UNSUPPORTED,
          "freshness 'on_time' is of the rows of a snapshot, and %s of table %s is read; leave one of the two out"
              .formatted(range != null ? "a range of commits" : "an experiment", name()));
    }
    return scope().onTime();
  }

  /** The statement that reads and writes the table; null where none changes its rows. */
  public @Nullable StatementRead statement() {
    return statement;
  }

  /** Refuses to change what is a tag or an earlier snapshot of the table. */
  public void checkIsChangeable() {
    try {
      loaded.canDeleteWhere(new Predicate[0]);
    } catch (IllegalArgumentException e) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the statement names a tag or an earlier snapshot of %s, which do not change; name the table or a branch"
              .formatted(name()));
    }
  }

  public Rows rows() {
    return rows;
  }

  public KeyedSchema keyed() {
    return keyed;
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
    return ShownColumns.of(schema());
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
        TableCapability.OVERWRITE_DYNAMIC,
        TableCapability.TRUNCATE,
        TableCapability.STREAMING_WRITE,
        TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public Transform[] partitioning() {
    return keyed.hasBucketColumn() ? DeclaredLayout.buckets(keyed) : loaded.partitioning();
  }

  @Override
  public Constraint[] constraints() {
    return DeclaredLayout.key(keyed);
  }

  /** The properties that SHOW CREATE TABLE puts into a statement that makes the same table. */
  @Override
  public Map<String, String> properties() {
    return ShownProperties.of(super.properties(), keyed.spec());
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    return HiddenColumn.of(keyed);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    RelationOptions.checkRead(options, name());
    SessionSettings.checkSpelling();
    return new KeyedScanBuilder(spark(), table(), keyed, scope(options), schema(), options)
        .readFor(statement);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    SessionSettings.checkSpelling();
    SessionSettings.checkPublishes(spark(), table(), name());
    if (rows == Rows.AS_GIVEN) {
      throw new KeylakeException(
          UNSUPPORTED,
          "this kind of write to keyed table %s is not supported; use INSERT INTO, writeTo(...).append() or the verbs of the SDK (and see that spark.sql.extensions has %s)"
              .formatted(name(), EXTENSIONS));
    }
    loaded.newWriteBuilder(
        info); // refuses what Iceberg refuses: time travel, a tag, a branch that is not there
    String target = targetBranch(info.options());
    return new KeyedWriteBuilder(spark(), table(), target, stored(), info, rows).madeOf(statement);
  }

  private @Nullable String targetBranch(CaseInsensitiveStringMap options) {
    return SessionSettings.writeBranch(spark(), table(), branch(), options);
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

  /** The error where rules of ours have not made the statement a write of rows. */
  private KeylakeException noRowLevel(String statement) {
    return new KeylakeException(
        UNSUPPORTED,
        "%s in SQL is not supported on keyed table %s in this session; see that spark.sql.extensions has %s"
            .formatted(statement, name(), EXTENSIONS));
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

  /** The rows are left out of the next snapshot; no file is opened. */
  @Override
  public boolean truncateTable() {
    SessionSettings.checkSpelling();
    SessionSettings.checkPublishes(spark(), table(), name());
    checkIsChangeable();
    String target = targetBranch(CaseInsensitiveStringMap.empty());
    KeyedWriteBuilder.truncate(spark(), table(), target, writtenBy(WriteOptions.Verb.OVERWRITE));
    return true;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KeyedTable that
        && loaded.equals(that.loaded)
        && Objects.equals(view, that.view)
        && rows == that.rows
        && statement == that.statement;
  }

  @Override
  public int hashCode() {
    return Objects.hash(loaded, rows);
  }
}
