package io.keylake.spark.read;

import io.keylake.tables.ChangePlan;
import io.keylake.tables.ChangePlanner;
import io.keylake.tables.CommitRange;
import io.keylake.tables.KeyedSchema;
import java.util.List;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A change feed: how the merged rows differ between two commits, or from commit to commit. Each
 * touched bucket is a task, and gives its changes in key order; nothing is shuffled.
 */
public final class ChangesScan implements Scan, Batch, ScanBuilder, SupportsPushDownV2Filters {
  static final String CHANGE = "_change";
  static final String COLUMNS = "_columns";
  static final String BEFORE = "_before";
  static final String AFTER = "_after";
  static final String COMMIT = "_commit";

  private final SparkSession spark;
  private final Table table;
  private final KeyedSchema schema;
  private final ReadRange range;
  private final boolean isEveryCommit;
  private PushedFilters filters = PushedFilters.NONE;
  private ChangePlan plan;

  /**
   * @param isEveryCommit whether the changes of each commit are told, or the net changes of all
   */
  public ChangesScan(
      SparkSession spark, Table table, KeyedSchema schema, ReadRange range, boolean isEveryCommit) {
    this.spark = spark;
    this.table = table;
    this.schema = schema;
    this.range = range;
    this.isEveryCommit = isEveryCommit;
  }

  /** The columns of the feed of a table. */
  public static StructType type(KeyedSchema schema) {
    StructType values = new StructType();
    StructType type = new StructType();
    StructType all = SparkSchemaUtil.convert(schema.table());
    for (NestedField key : schema.key()) {
      type = type.add(all.apply(key.name()));
    }
    for (NestedField value : schema.values()) {
      values = values.add(all.apply(value.name()));
    }
    return type.add(CHANGE, DataTypes.StringType, false)
        .add(COLUMNS, DataTypes.createArrayType(DataTypes.StringType, false), false)
        .add(BEFORE, values)
        .add(AFTER, values)
        .add(COMMIT, DataTypes.LongType, false);
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    filters = PushedFilters.of(schema, predicates);
    return predicates;
  }

  /** Only those on keys choose files; Spark evaluates all of them on the changes. */
  @Override
  public Predicate[] pushedPredicates() {
    return new Predicate[0];
  }

  @Override
  public Scan build() {
    return this;
  }

  @Override
  public StructType readSchema() {
    return type(schema);
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  private synchronized ChangePlan plan() {
    if (plan == null) {
      ChangePlanner planner = new ChangePlanner(table, schema, filters.fileFilter(schema));
      if (range.until() == null) {
        plan = new ChangePlan(List.of());
      } else {
        CommitRange commits = CommitRange.of(table, range.after(), range.until());
        plan = isEveryCommit ? planner.planApart(commits) : planner.plan(commits);
      }
    }
    return plan;
  }

  private record TouchedBucket(ChangePlan.Bucket bucket) implements InputPartition {}

  @Override
  public InputPartition[] planInputPartitions() {
    return plan().buckets().stream().map(TouchedBucket::new).toArray(InputPartition[]::new);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    return new Readers(schema, context.broadcast(SerializableTable.copyOf(table)));
  }

  private record Readers(KeyedSchema schema, Broadcast<Table> table)
      implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new ChangeReader(table.value().io(), schema, ((TouchedBucket) partition).bucket());
    }
  }

  @Override
  public String description() {
    long stretches = plan().buckets().stream().mapToLong(bucket -> bucket.stretches().size()).sum();
    return "keylake changes of %s (after %s, until %s, %s, buckets read: %d, stretches: %d, key filter: %s)"
        .formatted(
            table.name(),
            range.after(),
            range.until(),
            isEveryCommit ? "every commit" : "net",
            plan().buckets().size(),
            stretches,
            filters.fileFilter(schema) == Expressions.alwaysTrue() ? "none" : filters.shownOnKey());
  }
}
