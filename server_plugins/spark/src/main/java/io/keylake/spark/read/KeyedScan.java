package io.keylake.spark.read;

import io.keylake.merge.MergeRules;
import io.keylake.tables.BucketPlan;
import io.keylake.tables.KeyedSchema;
import io.keylake.tables.ReadPlanner;
import io.keylake.tables.SectionPlan;
import java.io.Serializable;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportOrdering;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning;
import org.apache.spark.sql.connector.read.partitioning.Partitioning;
import org.apache.spark.sql.connector.read.partitioning.UnknownPartitioning;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** A merged read: one partition per bucket, its rows in key order. */
final class KeyedScan
    implements Batch, SupportsReportPartitioning, SupportsReportOrdering, SupportsReportStatistics {
  private static final int BATCH_ROWS = 4096;

  private final SparkSession spark;
  private final Table table;
  private final KeyedSchema schema;
  private final Long snapshotId;
  private final StructType wanted;
  private final Expression filter;
  private final KeyFilter keyFilter;
  private List<BucketPlan> plan;

  KeyedScan(
      SparkSession spark,
      Table table,
      KeyedSchema schema,
      Long snapshotId,
      StructType wanted,
      Expression filter,
      KeyFilter keyFilter) {
    this.spark = spark;
    this.table = table;
    this.schema = schema;
    this.snapshotId = snapshotId;
    this.wanted = wanted;
    this.filter = filter;
    this.keyFilter = keyFilter;
  }

  @Override
  public StructType readSchema() {
    return wanted;
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.SUPPORTED;
  }

  private synchronized List<BucketPlan> plan() {
    if (plan == null) {
      Set<Integer> values = new HashSet<>();
      output().stream()
          .filter(column -> column.source() == OutputColumn.Source.VALUE)
          .forEach(column -> values.add(column.fieldId()));
      boolean stamps = has(KeyedSchema.MERGE_INFO);
      MergeRules.Wanted rows = stamps ? MergeRules.Wanted.ROWS_AND_STAMPS : MergeRules.Wanted.ROWS;
      plan =
          new ReadPlanner(table, schema, new ReadPlanner.Wish(snapshotId, filter, values, rows))
              .plan();
    }
    return plan;
  }

  private boolean has(String column) {
    return Arrays.asList(wanted.fieldNames()).contains(column);
  }

  private List<OutputColumn> output() {
    List<OutputColumn> output = new ArrayList<>();
    for (StructField field : wanted.fields()) {
      if (field.name().equals(KeyedSchema.BUCKET)) {
        output.add(new OutputColumn(OutputColumn.Source.BUCKET, -1, field.dataType(), false));
      } else if (field.name().equals(KeyedSchema.MERGE_INFO)) {
        output.add(new OutputColumn(OutputColumn.Source.MERGE_INFO, -1, field.dataType(), false));
      } else {
        NestedField stored = schema.table().asStruct().field(field.name());
        OutputColumn.Source source =
            schema.spec().key().contains(field.name())
                ? OutputColumn.Source.KEY
                : OutputColumn.Source.VALUE;
        boolean isUuid = stored.type().typeId() == Type.TypeID.UUID;
        output.add(new OutputColumn(source, stored.fieldId(), field.dataType(), isUuid));
      }
    }
    return output;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    return plan().stream()
        .map(bucket -> new BucketPartition(bucket, partitionKey(bucket.partition())))
        .toArray(InputPartition[]::new);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    ReadTask task = new ReadTask(schema, output(), keyFilter, Expressions.alwaysTrue(), BATCH_ROWS);
    return new BucketReaderFactory(task, context.broadcast(SerializableTable.copyOf(table)));
  }

  /** Buckets that are a stored column can be reported only to a query that reads that column. */
  @Override
  public Partitioning outputPartitioning() {
    List<org.apache.spark.sql.connector.expressions.Expression> keys = new ArrayList<>();
    schema.spec().partitionBy().forEach(name -> keys.add(column(name)));
    if (!schema.hasBucketColumn()) {
      keys.add(
          org.apache.spark.sql.connector.expressions.Expressions.bucket(
              schema.spec().buckets(), quoted(schema.spec().bucketBy().get(0))));
    } else if (has(KeyedSchema.BUCKET)) {
      keys.add(column(KeyedSchema.BUCKET));
    } else {
      return new UnknownPartitioning(plan().size());
    }
    return new KeyGroupedPartitioning(
        keys.toArray(org.apache.spark.sql.connector.expressions.Expression[]::new), plan().size());
  }

  /**
   * Rows are in key order; that is of use up to the first key column that the query does not read.
   * What is the same in a whole partition comes first, because Spark may put partitions of several
   * days or tenants into one task, and then the key alone is not in order.
   */
  @Override
  public SortOrder[] outputOrdering() {
    List<String> constant = new ArrayList<>(schema.spec().partitionBy());
    if (!constant.stream().allMatch(this::has)) {
      return new SortOrder[0];
    }
    if (has(KeyedSchema.BUCKET)) {
      constant.add(KeyedSchema.BUCKET);
    }
    List<String> order = new ArrayList<>(constant);
    for (String name : schema.spec().key()) {
      if (!has(name)) {
        break;
      }
      if (!constant.contains(name)) {
        order.add(name);
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

  private static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }

  @Override
  public Statistics estimateStatistics() {
    long rows = plan().stream().mapToLong(BucketPlan::rows).sum();
    long bytes = rows * Math.max(wanted.defaultSize(), 1);
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
    return new GenericInternalRow(partition.stream().map(KeyedScan::internal).toArray());
  }

  private static Object internal(Serializable value) {
    if (value instanceof String || value instanceof java.util.UUID) {
      return UTF8String.fromString(value.toString());
    }
    if (value instanceof BigDecimal decimal) {
      return Decimal.apply(decimal);
    }
    return value;
  }

  @Override
  public String description() {
    List<SectionPlan> sections =
        plan().stream().flatMap(bucket -> bucket.sections().stream()).toList();
    long merged = sections.stream().filter(section -> !section.passedThrough()).count();
    long files =
        sections.stream().flatMap(section -> section.runs().stream()).mapToLong(List::size).sum();
    return "keylake %s (snapshot %s, buckets read: %d, sections merged: %d, passed through: %d, files: %d, key filter: %s)"
        .formatted(
            table.name(),
            snapshotId,
            plan().size(),
            merged,
            sections.size() - merged,
            files,
            filter);
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
        && Objects.equals(snapshotId, that.snapshotId)
        && wanted.equals(that.wanted)
        && filter.toString().equals(that.filter.toString())
        && keyFilter.equals(that.keyFilter);
  }

  @Override
  public int hashCode() {
    return Objects.hash(table.name(), snapshotId, wanted);
  }
}
