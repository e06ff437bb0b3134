package io.keylake.spark.write;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.conditions.RequiredCondition;
import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.maintenance.Maintenance;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.spark.write.request.Requirement;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.spark.write.tasks.PartWriters;
import io.keylake.spark.write.tasks.WriteLayout;
import io.keylake.tables.CommitCounter;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.OlderDefinition;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.quarantine.HeldWrite;
import io.keylake.tables.repair.Adoption;
import io.keylake.tables.repair.AdoptionChange;
import io.keylake.tables.spec.ColumnNames;
import io.keylake.tables.spec.HelperColumn;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.SpecJson;
import io.keylake.tables.spec.TableSpec.Versions;
import io.keylake.tables.staged.Staging;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One write: rows go to their bucket's task, are sorted there by key and version, reduced, and
 * appended.
 */
final class KeyedWrite implements RequiresDistributionAndOrdering, BatchWrite {
  private final SparkSession spark;
  private final Table table;
  private final KeyedSchema schema;
  private final LogicalWriteInfo info;
  private final WriteOptions options;
  private final Rows rows;
  private final Effect effect;
  private final WriteLayout layout;
  private final @Nullable String branch;
  private boolean isHandedOver;

  /**
   * @param rows how they come
   * @param effect what becomes of the rows
   */
  KeyedWrite(
      SparkSession spark,
      Table table,
      @Nullable String branch,
      KeyedSchema schema,
      LogicalWriteInfo info,
      WriteOptions options,
      Rows rows,
      Effect effect) {
    this.spark = spark;
    this.table = table;
    this.schema = schema;
    this.info = info;
    this.options = options;
    this.rows = rows;
    this.effect = effect;
    this.layout = WriteLayout.of(info.schema(), schema, options);
    this.branch = branch;
  }

  @Override
  public Distribution requiredDistribution() {
    if (rows.areSpread()) {
      return Distributions.unspecified();
    }
    List<String> columns = new ArrayList<>(schema.spec().partitionBy());
    columns.add(KeyedSchema.BUCKET);
    return Distributions.clustered(
        columns.stream().map(KeyedWrite::column).toArray(NamedReference[]::new));
  }

  @Override
  public SortOrder[] requiredOrdering() {
    return rows.areSorted()
        ? new SortOrder[0]
        : order().stream()
            .map(name -> Expressions.sort(column(name), SortDirection.ASCENDING))
            .toArray(SortOrder[]::new);
  }

  /** The columns by which rows are sorted before they are written. */
  List<String> order() {
    List<String> columns = new ArrayList<>();
    if (Arrays.asList(info.schema().fieldNames()).contains(HelperColumn.PLACE)) {
      columns.add(HelperColumn.PLACE); // decides nearly always, and compares as a number
    }
    columns.addAll(schema.spec().partitionBy());
    columns.add(KeyedSchema.BUCKET);
    schema.sortKey().stream()
        .map(NestedField::name)
        .filter(name -> !columns.contains(name))
        .forEach(columns::add);
    if (layout.version() != null) {
      columns.add(info.schema().fieldNames()[layout.version().position()]);
    }
    if (layout.rowOrder() >= 0) {
      columns.add(HelperColumn.ROW_ORDER);
    }
    return columns;
  }

  /** The number of columns that decide the file of a row: the partition's, and the bucket. */
  int columnsOfCell() {
    return schema.spec().partitionBy().size() + 1;
  }

  /** The rows as they come to the writers. */
  StructType rowType() {
    return info.schema();
  }

  Rows rows() {
    return rows;
  }

  String tableName() {
    return table.name();
  }

  private static NamedReference column(String name) {
    return FieldReference.apply(CollectionConverters.asScala(List.of(name)).toSeq());
  }

  @Override
  public BatchWrite toBatch() {
    return this;
  }

  @Override
  public StreamingWrite toStreaming() {
    WriteLabels labels =
        options
            .labels()
            .by(spark.sparkContext().sparkUser())
            .certified(AccessControl.principalOfThread());
    return new StreamedBatches(
        this,
        info.queryId(),
        labels,
        StreamedBatches.delay(options.watermarkDelay(), schema, table.name()));
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo physical) {
    labels(spark, options.labels()); // what they do not permit is said before rows are written
    return writerFactory(info.queryId());
  }

  /** The writers of as many parts of the rows, for this process. */
  List<DataWriter<InternalRow>> writersHere(int parts) {
    labels(spark, options.labels());
    return writersHere(info.queryId(), parts);
  }

  List<DataWriter<InternalRow>> writersHere(String operation, int parts) {
    return writers(operation).writers(table, parts);
  }

  DataWriterFactory writerFactory(String operation) {
    PartWriters writers = writers(operation);
    Broadcast<Table> copy =
        JavaSparkContext.fromSparkContext(spark.sparkContext())
            .broadcast(SerializableTable.copyOf(table));
    return new WriterFactory(copy, writers);
  }

  /** The writers of files, whose names have an operation that no other write has. */
  PartWriters writers(String operation) {
    table.refresh();
    OlderDefinition.checkWrite(table, schema.table());
    if (options.adopts() == null) {
      Lineage.check(
          table,
          new CommitLog(table, branch)
              .headId()); // before rows are written; the commit checks again
    }
    Requirement requirement = options.requirement();
    boolean splitsLate = options.adopts() == null && options.versionOf().isEmpty();
    Long fixedVersion =
        schema.spec().versions() == Versions.COMMIT
            ? Long.valueOf(new CommitLog(table, branch).nextVersion())
            : options.versionValue();
    long targetFileSize =
        options.targetFileSize() != null
            ? options.targetFileSize()
            : PropertyUtil.propertyAsLong(
                table.properties(),
                TableProperties.WRITE_TARGET_FILE_SIZE_BYTES,
                TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT);
    return new PartWriters(
        schema,
        layout,
        options.verb(),
        fixedVersion,
        effect.stated(),
        targetFileSize,
        operation,
        splitsLate ? effect.lateBelow(table, schema, branch) : null,
        requirement != null && requirement.holdsBack(),
        null);
  }

  private record WriterFactory(Broadcast<Table> table, PartWriters writers)
      implements DataWriterFactory {
    @Override
    public DataWriter<InternalRow> createWriter(int partitionId, long taskId) {
      return writers.writer(table.value(), partitionId, taskId);
    }
  }

  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    tell(commit(messages, labels(spark, options.labels())));
  }

  Commits.Result commit(WriterCommitMessage[] messages, WriteLabels labels) {
    WrittenRows rows = WrittenRows.of(messages);
    WrittenRows held = rows.held();
    labels.offsets().checkRows(rows.count() + held.count());
    table.refresh();
    List<DataFile> files = rows.files();
    WriteSummary summary =
        rows.summary(options.verb().word(), carried(), labels).holding(held.count());
    WriteOptions.Adopted adopts = options.adopts();
    if (adopts != null) {
      return adopt(adopts, files, summary);
    }
    isHandedOver = true;
    Commits.Result result =
        new Commits(table, this::maintain)
            .make(holding(effect.change(branch, files, summary, names(table, schema)), held));
    if (result.isCommitted()) {
      CommitCounter.ROWS.add(summary.rows());
    }
    return result;
  }

  /** The change with the rows that are held back, if there are any. */
  private Change holding(Change passing, WrittenRows held) {
    Requirement requirement = options.requirement();
    if (requirement == null || held.count() == 0) {
      return passing;
    }
    WriteLabels own = // the key, offsets and watermark are those of the write to main
        new WriteLabels(
                options.labels().stream(),
                options.labels().writer(),
                options.labels().writeId(),
                null,
                OffsetRanges.NONE,
                null)
            .by(spark.sparkContext().sparkUser())
            .certified(AccessControl.principalOfThread());
    List<String> conditions =
        requirement.conditions().stream()
            .filter(text -> RequiredCondition.of(text, schema).concerns(carried()))
            .toList();
    WriteSummary summary = held.summary(options.verb().word(), carried(), own);
    return new HeldWrite(passing, held.files(), summary, conditions);
  }

  /** The value columns of the rows. */
  private List<String> carried() {
    return layout.values().stream().map(column -> column.field().name()).toList();
  }

  /**
   * Tells the client which commit has the rows of this write, or those of the same write before.
   */
  private void tell(Commits.Result result) {
    result
        .commit(table)
        .ifPresent(
            commit -> spark.conf().set(SessionSettings.COMMITTED, SpecJson.write(told(commit))));
  }

  private static Map<String, Object> told(CommitLog.Entry commit) {
    Map<String, Object> told = new HashMap<>();
    told.put("write_id", commit.writeId());
    told.put("snapshot_id", commit.snapshotId());
    told.put("parent_id", commit.parentId());
    told.put("rows", commit.rows());
    told.put("min_version", commit.minVersion());
    told.put("max_version", commit.maxVersion());
    told.put("held_rows", commit.heldRows());
    told.put("late_rows", commit.lateRows());
    return told;
  }

  private static WriteLabels labels(SparkSession spark, WriteLabels given) {
    return given
        .by(spark.sparkContext().sparkUser())
        .certified(AccessControl.principalOfThread())
        .once(SessionSettings.value(spark, SessionSettings.IDEMPOTENCY_KEY))
        .of(
            OffsetRanges.parse(
                SessionSettings.OFFSETS, SessionSettings.value(spark, SessionSettings.OFFSETS)));
  }

  /** Leaves all rows out of the next snapshot of a branch, and opens no file. */
  public static void truncate(
      SparkSession spark, Table table, @Nullable String branch, KeyedSchema schema) {
    table.refresh();
    List<String> columns = schema.values().stream().map(NestedField::name).toList();
    WriteSummary summary =
        new WriteSummary(
            WriteOptions.Verb.OVERWRITE.word(),
            0,
            null,
            null,
            columns,
            labels(spark, WriteLabels.NONE));
    Effect all = new Effect.Replaces(org.apache.iceberg.expressions.Expressions.alwaysTrue());
    new Commits(table, () -> maintain(spark, table, branch))
        .make(all.change(branch, List.of(), summary, names(table, schema)));
  }

  /** Columns may have got other names since the write was planned. */
  private static ColumnNames names(Table table, KeyedSchema schema) {
    return new ColumnNames(schema.table(), table.schema());
  }

  private Commits.Result adopt(
      WriteOptions.Adopted adopts, List<DataFile> files, WriteSummary summary) {
    Adoption adoption = Adoption.of(table, branch, adopts.snapshotId());
    AdoptionChange change = new AdoptionChange(adoption, files, summary);
    boolean isPlanned = adoption.plannedAt() == adopts.head();
    isHandedOver = isPlanned;
    Commits.Result result = isPlanned ? new Commits(table, this::maintain).make(change) : null;
    if (result == null || !result.isCommitted()) {
      throw change.lost();
    }
    return result;
  }

  private void maintain() {
    maintain(spark, table, branch);
  }

  private static void maintain(SparkSession spark, Table table, @Nullable String branch) {
    Maintenance maintenance = Maintenance.of(spark.sparkContext());
    if (maintenance != null && !Staging.isOne(table)) {
      maintenance.look(table.name(), branch, () -> table);
    }
  }

  /**
   * Deletes the written files, unless they were handed over for a commit: it deletes them itself if
   * it certainly was not made.
   */
  @Override
  public void abort(WriterCommitMessage[] messages) {
    if (isHandedOver) {
      return;
    }
    WrittenRows.of(messages).all().forEach(file -> table.io().deleteFile(file.location()));
  }

  @Override
  public String description() {
    return "keylake %s of %s".formatted(options.verb().word(), table.name());
  }

  @Override
  public String toString() {
    return description();
  }
}
