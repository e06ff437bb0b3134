package io.keylake.spark.read.scan;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.parquet.ParquetRowGroups;
import io.keylake.spark.read.indexes.IndexProbes;
import io.keylake.spark.read.merge.ReadFacts;
import io.keylake.spark.read.merge.ReadingStrategy;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.KeySlice;
import io.keylake.tables.planning.ReadPlan;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportOrdering;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning;
import org.apache.spark.sql.connector.read.partitioning.Partitioning;
import org.apache.spark.sql.connector.read.partitioning.UnknownPartitioning;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * A merged read: one partition per bucket, its rows in key order; or, where neither is of use to
 * the query, as many partitions as keep the cores busy.
 */
final class KeyedScan
    implements Batch,
        SupportsReportPartitioning,
        SupportsReportOrdering,
        SupportsReportStatistics,
        SupportsRuntimeV2Filtering {
  private final SparkSession spark;
  private final Table table;
  private final KeyedSchema schema;
  private final @Nullable StatementRead statement;
  private ScanRequest request;
  private int runtimeFilters;
  private volatile long filesLeftOut; // by the driver
  private @Nullable ReadPlan plan;
  private @Nullable List<BucketPlan> parts;
  private @Nullable String strategies;

  /**
   * @param statement that changes the table by what is read; null for none
   */
  KeyedScan(
      SparkSession spark,
      Table table,
      KeyedSchema schema,
      ScanRequest request,
      @Nullable StatementRead statement) {
    this.spark = spark;
    this.table = table;
    this.schema = schema;
    this.request = request;
    this.statement = statement;
  }

  @Override
  public StructType readSchema() {
    return request.wanted();
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.SUPPORTED;
  }

  synchronized ReadPlan plan() {
    if (plan == null) {
      plan = request.plan(table, schema);
    }
    return plan;
  }

  /** The parts of the table that the tasks read: a bucket each, or parts of buckets. */
  private synchronized List<BucketPlan> parts() {
    if (parts == null) {
      boolean readsFiles =
          request.output(schema).stream()
              .anyMatch(column -> column.source() != OutputColumn.Source.BUCKET);
      parts =
          request.isSpread() && readsFiles
              ? plan()
                  .spread(
                      spreadOfSession(),
                      new ParquetRowGroups(table.io(), schema.sortKey().get(0).fieldId()))
              : plan().buckets();
    }
    return parts;
  }

  private ReadPlan.Spread spreadOfSession() {
    return new ReadPlan.Spread(
        SessionSettings.fileBytesPerTask(spark), spark.sparkContext().defaultParallelism());
  }

  /**
   * The same rows, as the driver reads them; null where the scan has to be left to tasks.
   *
   * @param mostFiles that may be opened
   * @param mostBytes that may be read
   */
  @Nullable Lookup lookup(int mostFiles, long mostBytes) {
    boolean isOfOneKey =
        mostBytes > 0
            && request.isSpread()
            && request.scope().after() == null
            && statement == null
            && request.filters().nameOneKey(schema);
    return isOfOneKey && plan().files() <= mostFiles && plan().bytesOfOneKey() <= mostBytes
        ? new Lookup(description(), request.task(table, schema), bucketsOfOneKey(), table.io())
        : null;
  }

  private List<BucketPlan> bucketsOfOneKey() {
    KeySlice key = request.filters().slice(schema);
    return key == null
        ? plan().buckets()
        : plan().buckets().stream().map(bucket -> bucket.cutTo(key)).toList();
  }

  /** Filters on merged rows that test a value column, by the columns' names in the table. */
  List<Filter> valueFilters() {
    return request.filters().valueFilters();
  }

  /** The number of rows that are enough, over all tasks, or {@link ScanRequest#ALL}. */
  int limit() {
    return request.limit();
  }

  /** Columns of which no two rows have the same values; none where a range of commits is read. */
  Set<String> uniqueBy() {
    return request.scope().after() == null ? Set.copyOf(schema.spec().key()) : Set.of();
  }

  /** A statement writes to the table what it reads, and by as many buckets. */
  boolean isInPlace() {
    return statement != null
        && !request.isSpread()
        && plan().bucketCount() == schema.spec().buckets();
  }

  private boolean has(String column) {
    return request.has(column);
  }

  @Override
  public InputPartition[] planInputPartitions() {
    if (statement != null) {
      statement.looksAt(request.filters());
    }
    return asked().stream()
        .map(bucket -> new BucketPartition(bucket, partitionKey(bucket.partition())))
        .toArray(InputPartition[]::new);
  }

  /** The parts that may have wanted rows, where Spark does not count on a part for each bucket. */
  private List<BucketPlan> asked() {
    if (!request.isSpread()) {
      return parts();
    }
    IndexProbes.Left left = request.indexProbes(table, schema).left(parts(), table.io());
    filesLeftOut = left.filesLeftOut();
    return left.buckets();
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    ReadTask task = request.task(table, schema);
    return new BucketReaderFactory(task, context.broadcast(SerializableTable.copyOf(table)));
  }

  /**
   * A query that reads the bucket is told of it as a column. One that does not can be told of it
   * where it is Iceberg's transform of one column.
   */
  @Override
  public Partitioning outputPartitioning() {
    if (request.isSpread()) {
      return new UnknownPartitioning(parts().size());
    }
    List<org.apache.spark.sql.connector.expressions.Expression> keys = new ArrayList<>();
    schema.spec().partitionBy().forEach(name -> keys.add(column(name)));
    if (has(KeyedSchema.BUCKET)) {
      keys.add(column(KeyedSchema.BUCKET));
    } else if (!schema.hasBucketColumn()) {
      keys.add(
          org.apache.spark.sql.connector.expressions.Expressions.bucket(
              plan().bucketCount(), QuotingUtils.quoteIdentifier(schema.spec().bucketBy().get(0))));
    } else {
      return new UnknownPartitioning(parts().size());
    }
    return new KeyGroupedPartitioning(
        keys.toArray(org.apache.spark.sql.connector.expressions.Expression[]::new), parts().size());
  }

  /**
   * Rows are in sort key order; that is of use up to its first column that the query does not read.
   * What is the same in a whole partition comes first, because Spark may put partitions of several
   * days or tenants into one task, and then the key alone is not in order.
   */
  @Override
  public SortOrder[] outputOrdering() {
    List<String> constant = new ArrayList<>(schema.spec().partitionBy());
    if (request.isSpread() || !constant.stream().allMatch(this::has)) {
      return new SortOrder[0];
    }
    if (has(KeyedSchema.BUCKET)) {
      constant.add(KeyedSchema.BUCKET);
    }
    List<String> order = new ArrayList<>(constant);
    for (NestedField field : schema.sortKey()) {
      if (!has(field.name())) {
        break;
      }
      if (!constant.contains(field.name())) {
        order.add(field.name());
      }
    }
    return order.stream().map(KeyedScan::ascending).toArray(SortOrder[]::new);
  }

  private static SortOrder ascending(String name) {
    return org.apache.spark.sql.connector.expressions.Expressions.sort(
        column(name), SortDirection.ASCENDING);
  }

  private static NamedReference column(String name) {
    return org.apache.spark.sql.connector.expressions.FieldReference.apply(
        scala.jdk.javaapi.CollectionConverters.asScala(List.of(name)).toSeq());
  }

  @Override
  public Statistics estimateStatistics() {
    long rows = plan().buckets().stream().mapToLong(BucketPlan::rows).sum();
    long bytes = rows * Math.max(request.wanted().defaultSize(), 1);
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return OptionalLong.of(bytes);
      }

      @Override
      public OptionalLong numRows() {
        return OptionalLong.of(rows);
      }
    };
  }

  private static GenericInternalRow partitionKey(List<Serializable> partition) {
    return new GenericInternalRow(partition.stream().map(SparkValue::of).toArray());
  }

  /** The columns that runtime filters may name: those that the query reads. */
  @Override
  public NamedReference[] filterAttributes() {
    return schema.spec().key().stream()
        .filter(this::has)
        .map(KeyedScan::column)
        .toArray(NamedReference[]::new);
  }

  /**
   * Keys that a join has found on its other side. Buckets without any of them are not read; the
   * others keep their place, and none is new.
   */
  @Override
  public synchronized void filter(Predicate[] predicates) {
    PushedFilters found = PushedFilters.of(schema, predicates);
    if (!found.isNone()) {
      request = request.and(found);
      runtimeFilters += found.used().size();
      plan = null;
      parts = null;
      strategies = null;
    }
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return ReadMetrics.all();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return ReadMetrics.planned(sections(false), sections(true), filesLeftOut);
  }

  private long sections(boolean passedThrough) {
    return plan().buckets().stream()
        .flatMap(bucket -> bucket.sections().stream())
        .filter(section -> section.passedThrough() == passedThrough)
        .count();
  }

  /** The number of sections, or slices of them, that the tasks are expected to read in each way. */
  private synchronized String strategies() {
    if (strategies == null) {
      ReadFacts read = ReadFacts.of(request.task(table, schema));
      Map<String, Long> sections =
          parts().stream()
              .flatMap(bucket -> bucket.sections().stream())
              .collect(
                  Collectors.groupingBy(
                      section -> ReadingStrategy.expected(read, section).toString(),
                      TreeMap::new,
                      Collectors.counting()));
      strategies =
          sections.entrySet().stream()
              .map(strategy -> strategy.getKey() + ": " + strategy.getValue())
              .collect(Collectors.joining(", ", "[", "]"));
    }
    return strategies;
  }

  @Override
  public String description() {
    List<BucketPlan> buckets = plan().buckets();
    long files =
        buckets.stream()
            .flatMap(bucket -> bucket.sections().stream())
            .flatMap(section -> section.runs().stream())
            .mapToLong(List::size)
            .sum();
    return "keylake %s (snapshot %s%s%s, buckets read: %d, tasks: %d, sections merged: %d, passed through: %d, strategies: %s, files: %d, key filter: %s, value filter: %s, filters from joins: %d, limit: %s)"
        .formatted(
            table.name(),
            request.scope().snapshotId(),
            request.scope().after() == null ? "" : ", written after " + request.scope().after(),
            request.scope().hasLate() ? "" : ", without late rows",
            buckets.size(),
            parts().size(),
            sections(false),
            sections(true),
            strategies(),
            files,
            request.filters().shownOnKey(),
            request.filters().shownOnValues(),
            runtimeFilters,
            request.limit() == ScanRequest.ALL ? "none" : request.limit());
  }

  @Override
  public String toString() {
    return description();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KeyedScan that
        && table.name().equals(that.table.name())
        && Objects.equals(table.uuid(), that.table.uuid())
        && request.equals(that.request);
  }

  @Override
  public int hashCode() {
    return Objects.hash(table.name(), request);
  }
}
