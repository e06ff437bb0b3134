package io.keylake.spark.changes;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.read.scan.PushedFilters;
import io.keylake.spark.read.scan.ReadRange;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.planning.ChangePlan;
import io.keylake.tables.planning.ChangePlanner;
import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
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
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

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
  private final @Nullable String branch;
  private final Wanted wanted;
  private PushedFilters filters = PushedFilters.NONE;
  private @Nullable ChangePlan plan;

  /**
   * The options of a read.
   *
   * @param range null where they say nothing of one; only a stream can do without
   * @param isEveryCommit whether the changes of each commit are told, or the net changes of all, or
   *     of a batch of the stream
   * @param mostCommits in one batch of a stream
   * @param consumer whose position a stream moves; null for nobody's
   */
  private record Wanted(
      @Nullable ReadRange range,
      boolean isEveryCommit,
      int mostCommits,
      @Nullable String consumer) {
    private static final String EVERY_COMMIT = "every-commit";
    private static final String MOST_COMMITS = "max-commits-per-batch";

    static Wanted of(CaseInsensitiveStringMap options, @Nullable Long head) {
      int most = Integer.MAX_VALUE;
      String said = options.get(MOST_COMMITS);
      try {
        most = said == null ? most : Integer.parseInt(said.strip());
      } catch (NumberFormatException e) {
        most = 0;
      }
      if (most < 1) {
        throw new KeylakeException(
            DEFINITION,
            "the read option '%s' is '%s'; it must be a whole number of at least 1"
                .formatted(MOST_COMMITS, said));
      }
      return new Wanted(
          ReadRange.of(options, head),
          options.getBoolean(EVERY_COMMIT, false),
          most,
          options.get("consumer"));
    }
  }

  /**
   * @param branch null for main
   * @param head the commit that the branch stands at; null where there is none
   */
  public ChangesScan(
      SparkSession spark,
      Table table,
      KeyedSchema schema,
      @Nullable String branch,
      @Nullable Long head,
      CaseInsensitiveStringMap options) {
    this.spark = spark;
    this.table = table;
    this.schema = schema;
    this.branch = branch;
    this.wanted = Wanted.of(options, head);
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

  /** Filters on keys alone choose files; Spark evaluates all of them on the changes. */
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

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    long after = wanted.range() == null ? CommitRange.BEGINNING : wanted.range().after();
    ConsumerPosition position =
        wanted.consumer() == null ? null : ConsumerPosition.of(table, wanted.consumer(), after);
    return new ChangesStream(
        table,
        branch,
        position == null ? after : position.at(),
        wanted.mostCommits(),
        position,
        this::plan,
        createReaderFactory());
  }

  private synchronized ChangePlan plan() {
    ReadRange range = wanted.range();
    if (range == null) {
      throw new KeylakeException(
          DEFINITION,
          "a change feed needs the commit after which it begins: WITH ('after' = '...'), a snapshot id, or 0 for all");
    }
    if (plan == null) {
      plan =
          range.until() == null
              ? new ChangePlan(List.of())
              : plan(CommitRange.of(table, range.after(), range.until()));
    }
    return plan;
  }

  private ChangePlan plan(CommitRange commits) {
    ChangePlanner planner =
        new ChangePlanner(table, schema, filters.fileFilter(schema, BucketCounts.of(table).all()));
    return wanted.isEveryCommit() ? planner.planApart(commits) : planner.plan(commits);
  }

  private record TouchedBucket(ChangePlan.Bucket bucket) implements InputPartition {}

  @Override
  public InputPartition[] planInputPartitions() {
    return partitions(plan());
  }

  static InputPartition[] partitions(ChangePlan plan) {
    return plan.buckets().stream().map(TouchedBucket::new).toArray(InputPartition[]::new);
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
    if (wanted.range() == null) {
      return "keylake changes of %s".formatted(table.name());
    }
    long stretches = plan().buckets().stream().mapToLong(bucket -> bucket.stretches().size()).sum();
    return "keylake changes of %s (after %s, until %s, %s, buckets read: %d, stretches: %d, key filter: %s)"
        .formatted(
            table.name(),
            wanted.range().after(),
            wanted.range().until(),
            wanted.isEveryCommit() ? "every commit" : "net",
            plan().buckets().size(),
            stretches,
            filters.shownOnKey());
  }
}
