package io.keylake.spark.write;

import io.keylake.spark.maintenance.Maintenance;
import io.keylake.spark.parquet.SortedFiles;
import io.keylake.spark.write.KeyedDataWriter.Written;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.repair.Adoption;
import io.keylake.tables.repair.AdoptionChange;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec.Versions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.OutputFileFactory;
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
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One write: rows go to their bucket's task, are sorted there by key and version, reduced, and
 * appended.
 */
final class KeyedWrite implements RequiresDistributionAndOrdering, BatchWrite {
  /** The idempotency key of writes that name none, of a session: statements in SQL cannot. */
  private static final String IDEMPOTENCY_KEY = "spark.keylake.write.idempotency-key";

  private final SparkSession spark;
  private final Table table;
  private final KeyedSchema schema;
  private final LogicalWriteInfo info;
  private final WriteOptions options;
  private final boolean isSpread;
  private final @Nullable Expression replaces;
  private final WriteLayout layout;
  private final @Nullable String branch;
  private boolean isHandedOver;

  /**
   * @param isSpread whether every task has the ranges of keys that it is to write already
   * @param replaces what an overwrite replaces; null for an append
   */
  KeyedWrite(
      SparkSession spark,
      Table table,
      @Nullable String branch,
      KeyedSchema schema,
      LogicalWriteInfo info,
      WriteOptions options,
      boolean isSpread,
      @Nullable Expression replaces) {
    this.spark = spark;
    this.table = table;
    this.schema = schema;
    this.info = info;
    this.options = options;
    this.isSpread = isSpread;
    this.replaces = replaces;
    this.layout = WriteLayout.of(info.schema(), schema, options);
    this.branch = branch;
  }

  @Override
  public Distribution requiredDistribution() {
    if (isSpread) {
      return Distributions.unspecified();
    }
    List<String> columns = new ArrayList<>(schema.spec().partitionBy());
    columns.add(KeyedSchema.BUCKET);
    return Distributions.clustered(
        columns.stream().map(KeyedWrite::column).toArray(NamedReference[]::new));
  }

  @Override
  public SortOrder[] requiredOrdering() {
    List<String> columns = new ArrayList<>(schema.spec().partitionBy());
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
    return columns.stream()
        .map(name -> Expressions.sort(column(name), SortDirection.ASCENDING))
        .toArray(SortOrder[]::new);
  }

  private static NamedReference column(String name) {
    return FieldReference.apply(CollectionConverters.asScala(List.of(name)).toSeq());
  }

  @Override
  public BatchWrite toBatch() {
    return this;
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo physical) {
    table.refresh();
    if (options.adopts() == null) {
      Lineage.check(
          table,
          new CommitLog(table, branch)
              .headId()); // before rows are written; the commit checks again
    }
    Expression stated =
        replaces == null ? org.apache.iceberg.expressions.Expressions.alwaysTrue() : replaces;
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
    Broadcast<Table> copy =
        JavaSparkContext.fromSparkContext(spark.sparkContext())
            .broadcast(SerializableTable.copyOf(table));
    return new WriterFactory(
        copy, schema, layout, options.verb(), fixedVersion, stated, targetFileSize, info.queryId());
  }

  private record WriterFactory(
      Broadcast<Table> table,
      KeyedSchema schema,
      WriteLayout layout,
      WriteOptions.Verb verb,
      @Nullable Long fixedVersion,
      Expression replaces,
      long targetFileSize,
      String queryId)
      implements DataWriterFactory {
    @Override
    public DataWriter<InternalRow> createWriter(int partitionId, long taskId) {
      Table own = table.value();
      OutputFileFactory places =
          OutputFileFactory.builderFor(own, partitionId, taskId)
              .format(FileFormat.PARQUET)
              .operationId(queryId)
              .build();
      SortedFiles sorted = new SortedFiles(own, schema, layout.stored(), places, targetFileSize);
      BucketFiles files = new BucketFiles(layout, sorted, replaces);
      return new KeyedDataWriter(
          schema, layout, verb, new RowVersions(layout, fixedVersion), files);
    }
  }

  @Override
  public boolean useCommitCoordinator() {
    return false;
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    List<DataFile> files = new ArrayList<>();
    long rows = 0;
    long minVersion = Long.MAX_VALUE;
    long maxVersion = Long.MIN_VALUE;
    for (WriterCommitMessage message : messages) {
      Written written = (Written) message;
      files.addAll(Arrays.asList(written.files()));
      rows += written.rows();
      minVersion = Math.min(minVersion, written.minVersion());
      maxVersion = Math.max(maxVersion, written.maxVersion());
    }
    table.refresh();
    WriteSummary summary =
        new WriteSummary(
            options.verb().word(),
            rows,
            rows == 0 ? null : minVersion,
            rows == 0 ? null : maxVersion,
            layout.values().stream().map(column -> column.field().name()).toList(),
            options
                .labels()
                .by(spark.sparkContext().sparkUser())
                .once(spark.conf().get(IDEMPOTENCY_KEY, null)));
    WriteOptions.Adopted adopts = options.adopts();
    if (adopts != null) {
      adopt(adopts, files, summary);
    } else {
      isHandedOver = true;
      new Commits(table, this::maintain).make(change(files, summary));
    }
  }

  private Change change(List<DataFile> files, WriteSummary summary) {
    if (replaces != null) {
      return new Overwrite(branch, replaces, files, summary);
    }
    return options.businessTime() == null
        ? new Append(branch, files, summary)
        : HistoryBranches.lateWrite(files, summary, options.businessTime());
  }

  private void adopt(WriteOptions.Adopted adopts, List<DataFile> files, WriteSummary summary) {
    Adoption adoption = Adoption.of(table, branch, adopts.snapshotId());
    AdoptionChange change = new AdoptionChange(adoption, files, summary);
    boolean isPlanned = adoption.plannedAt() == adopts.head();
    isHandedOver = isPlanned;
    if (!isPlanned || !new Commits(table, this::maintain).make(change).isCommitted()) {
      throw change.lost();
    }
  }

  private void maintain() {
    Maintenance maintenance = Maintenance.of(spark.sparkContext());
    if (maintenance != null) {
      maintenance.look(table.name(), branch, () -> table);
    }
  }

  /** What was handed over for a commit is deleted there, if it is certain that there is none. */
  @Override
  public void abort(WriterCommitMessage[] messages) {
    if (isHandedOver) {
      return;
    }
    List<DataFile> files = new ArrayList<>();
    for (WriterCommitMessage message : messages) {
      if (message instanceof Written written) {
        files.addAll(Arrays.asList(written.files()));
      }
    }
    delete(files);
  }

  private void delete(List<DataFile> files) {
    files.forEach(file -> table.io().deleteFile(file.location()));
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
