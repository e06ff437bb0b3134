package io.keylake.spark.scan;

import io.keylake.merge.MergeRules;
import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.merge.OutputColumn;
import io.keylake.spark.merge.ReadTask;
import io.keylake.spark.parquet.FileFilter;
import io.keylake.spark.parquet.ParquetRowGroups;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.ReadPlan;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
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
import org.apache.spark.sql.types.StructField;
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
  private static final int BATCH_ROWS = 4096;

  private final SparkSession spark;
  private final Table table;
  private final KeyedSchema schema;
  private final @Nullable StatementRead statement;
  private ScanRequest request;
  private int runtimeFilters;
  private @Nullable ReadPlan plan;
  private @Nullable List<BucketPlan> parts;

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
      Set<Integer> values = new HashSet<>();
      output().stream()
          .filter(column -> column.source() == OutputColumn.Source.VALUE)
          .forEach(column -> values.add(column.fieldId()));
      boolean stamps = has(KeyedSchema.MERGE_INFO);
      MergeRules.Wanted rows =
          request.after() == null
              ? stamps ? MergeRules.Wanted.ROWS_AND_STAMPS : MergeRules.Wanted.ROWS
              : stamps ? MergeRules.Wanted.HISTORY : MergeRules.Wanted.ROWS_AND_TOMBSTONES;
      PushedFilters filters = request.filters();
      ReadPlanner.Wish wish =
          new ReadPlanner.Wish(
              request.snapshotId(),
              request.after(),
              filters.fileFilter(
                  schema,
                  ReadPlanner.buckets(
                      table, request.snapshotId(), request.after(), request.besides())),
              filters.onValues(),
              values,
              rows,
              request.isOrdered(),
              request.besides());
      ReadPlanner planner =
          request.buckets() == null
              ? new ReadPlanner(table, schema, wish)
              : new ReadPlanner(table, schema, wish, request.buckets());
      ReadPlan all = planner.plan();
      plan = request.limit() == ScanRequest.ALL ? all : all.limited(request.limit());
    }
    return plan;
  }

  /** What the tasks read: a bucket each, or parts of buckets. */
  private synchronized List<BucketPlan> parts() {
    if (parts == null) {
      boolean readsFiles =
          output().stream().anyMatch(column -> column.source() != OutputColumn.Source.BUCKET);
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

  /** Filters on merged rows that test a value column, by the columns' names in the table. */
  List<Filter> valueFilters() {
    return request.filters().valueFilters();
  }

  /** How many rows are enough, over all tasks, or {@link ScanRequest#ALL}. */
  int limit() {
    return request.limit();
  }

  /** Columns of which no two rows have the same values; none where a range of commits is read. */
  Set<String> uniqueBy() {
    return request.after() == null ? Set.copyOf(schema.spec().key()) : Set.of();
  }

  /** Whether a statement writes to the table what it reads, and by as many buckets. */
  boolean isInPlace() {
    return statement != null
        && !request.isSpread()
        && plan().bucketCount() == schema.spec().buckets();
  }

  private boolean has(String column) {
    return request.has(column);
  }

  private List<OutputColumn> output() {
    List<OutputColumn> output = new ArrayList<>();
    for (StructField field : request.wanted().fields()) {
      if (field.name().equals(KeyedSchema.BUCKET)) {
        output.add(new OutputColumn(OutputColumn.Source.BUCKET, -1, field.dataType(), false));
      } else if (field.name().equals(KeyedSchema.IS_DELETED)) {
        output.add(new OutputColumn(OutputColumn.Source.IS_DELETED, -1, field.dataType(), false));
      } else if (field.name().equals(KeyedSchema.MERGE_INFO)) {
        output.add(new OutputColumn(OutputColumn.Source.MERGE_INFO, -1, field.dataType(), false));
      } else {
        NestedField stored = schema.table().asStruct().field(field.name());
        output.add(OutputColumn.of(schema, stored, field.dataType()));
      }
    }
    return output;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    if (statement != null) {
      statement.looksAt(request.filters());
    }
    return parts().stream()
        .map(bucket -> new BucketPartition(bucket, partitionKey(bucket.partition())))
        .toArray(InputPartition[]::new);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    PushedFilters filters = request.filters();
    ReadTask task =
        new ReadTask(
            schema,
            output(),
            FileFilter.of(filters.keyFilters(), schema.sortKey()),
            FileFilter.of(filters.filters(), schema.table().columns()),
            filters.rowTests(),
            BATCH_ROWS);
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

  /** Only columns that the query reads can be named. */
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
    }
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return ReadMetrics.all();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return ReadMetrics.planned(sections(false), sections(true));
  }

  private long sections(boolean passedThrough) {
    return plan().buckets().stream()
        .flatMap(bucket -> bucket.sections().stream())
        .filter(section -> section.passedThrough() == passedThrough)
        .count();
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
    return "keylake %s (snapshot %s%s, buckets read: %d, tasks: %d, sections merged: %d, passed through: %d, files: %d, key filter: %s, value filter: %s, filters from joins: %d, limit: %s)"
        .formatted(
            table.name(),
            request.snapshotId(),
            request.after() == null ? "" : ", written after " + request.after(),
            buckets.size(),
            parts().size(),
            sections(false),
            sections(true),
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
