package io.keylake.spark.read.scan;

import io.keylake.spark.read.task.MergeInfoType;
import io.keylake.tables.planning.request.ReadScope;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Optional;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * Collects what a query needs of a keyed table. All of its filters are still evaluated on the
 * merged rows, and its limit on the rows of all tasks: they only tell what need not be read.
 */
public final class KeyedScanBuilder
    implements ScanBuilder,
        SupportsPushDownV2Filters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownAggregates,
        SupportsPushDownLimit {
  private final SparkSession spark;
  private final Table table;
  private final KeyedSchema schema;
  private final ReadScope scope;
  private final ScanTasks tasks;
  private final @Nullable Integer buckets;
  private StructType wanted;
  private PushedFilters filters = PushedFilters.NONE;
  private int limit = ScanRequest.ALL;
  private @Nullable StatementRead statement;
  private @Nullable KeyedScan counted;
  private @Nullable MetadataScan answered;

  /**
   * @param scope the commits that are read, and the experiments beside them
   * @param visible the columns of a query that names none
   * @param options what rules of the optimizer have found: what each task reads, and by how many
   *     buckets the query joins
   */
  public KeyedScanBuilder(
      SparkSession spark,
      Table table,
      KeyedSchema schema,
      ReadScope scope,
      StructType visible,
      CaseInsensitiveStringMap options) {
    this.spark = spark;
    this.table = table;
    this.schema = schema;
    this.scope = scope;
    this.wanted = visible;
    this.tasks = RelationOptions.tasks(options);
    this.buckets = RelationOptions.buckets(options);
  }

  /** The statement that changes the table by what the scan gives. */
  public KeyedScanBuilder readFor(@Nullable StatementRead changing) {
    statement = changing;
    return this;
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    filters = PushedFilters.of(schema, predicates);
    return predicates;
  }

  @Override
  public Predicate[] pushedPredicates() {
    return filters.used().toArray(Predicate[]::new);
  }

  /**
   * Keeps the wanted columns; of a struct all members are read, those, too, that the query does not
   * want.
   */
  @Override
  public void pruneColumns(StructType requiredSchema) {
    StructType stored = SparkSchemaUtil.convert(schema.table());
    wanted = new StructType();
    for (StructField field : requiredSchema.fields()) {
      DataType type =
          field.name().equals(KeyedSchema.MERGE_INFO)
              ? MergeInfoType.of(schema)
              : stored.getFieldIndex(field.name()).isDefined()
                  ? stored.apply(field.name()).dataType()
                  : field.dataType();
      wanted = wanted.add(field.name(), type, field.nullable(), field.metadata());
    }
  }

  /** There is one answer for the whole table, so that nothing is left for Spark to add up. */
  @Override
  public boolean supportCompletePushDown(Aggregation aggregation) {
    return answer(aggregation).isPresent();
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    answered = answer(aggregation).orElse(null);
    return answered != null;
  }

  /** Spark asks only where no filter is left to apply, and so where there is none. */
  private Optional<MetadataScan> answer(Aggregation aggregation) {
    if (!filters.isNone() || !MetadataScan.isWorthPlanning(schema, aggregation)) {
      return Optional.empty();
    }
    counted = counted == null ? scan(new StructType(), ScanTasks.PARTS) : counted;
    return MetadataScan.of(table.name(), schema, counted.plan(), aggregation);
  }

  @Override
  public boolean pushLimit(int rows) {
    limit = rows;
    return true;
  }

  @Override
  public boolean isPartiallyPushed() {
    return true;
  }

  @Override
  public Scan build() {
    if (answered != null) {
      if (statement != null) {
        statement.looksAt(filters);
      }
      return answered;
    }
    return counted != null && wanted.isEmpty() && limit == ScanRequest.ALL
        ? counted
        : scan(wanted, tasks);
  }

  private KeyedScan scan(StructType columns, ScanTasks tasks) {
    ScanRequest request = new ScanRequest(scope, columns, filters, limit, tasks, buckets);
    return new KeyedScan(spark, table, schema, request, statement);
  }
}
