package io.keylake.spark.read;

import io.keylake.tables.KeyedSchema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.spark.SparkV2Filters;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.internal.connector.PredicateUtils;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/**
 * Collects what a query needs of a keyed table. Filters on key columns choose buckets and files;
 * they, and all others, are still evaluated on the merged rows, because a filter on values before
 * the merge would let an older row win.
 */
public final class KeyedScanBuilder
    implements ScanBuilder, SupportsPushDownV2Filters, SupportsPushDownRequiredColumns {
  private final SparkSession spark;
  private final Table table;
  private final KeyedSchema schema;
  private final Long snapshotId;
  private StructType wanted;
  private Predicate[] pushed = new Predicate[0];
  private Expression filter = Expressions.alwaysTrue();

  /**
   * @param visible the columns of a query that names none
   */
  public KeyedScanBuilder(
      SparkSession spark, Table table, KeyedSchema schema, Long snapshotId, StructType visible) {
    this.spark = spark;
    this.table = table;
    this.schema = schema;
    this.snapshotId = snapshotId;
    this.wanted = visible;
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    Set<String> keys = schema.key().stream().map(NestedField::name).collect(Collectors.toSet());
    List<Predicate> usable = new ArrayList<>();
    for (Predicate predicate : predicates) {
      Expression expression =
          onlyOn(predicate, keys) ? bound(SparkV2Filters.convert(predicate)) : null;
      if (expression != null) {
        usable.add(predicate);
        filter = Expressions.and(filter, expression);
      }
    }
    pushed = usable.toArray(Predicate[]::new);
    return predicates;
  }

  private static boolean onlyOn(Predicate predicate, Set<String> keys) {
    NamedReference[] references = predicate.references();
    return references.length > 0
        && Arrays.stream(references)
            .allMatch(ref -> ref.fieldNames().length == 1 && keys.contains(ref.fieldNames()[0]));
  }

  /** The expression, if the table's schema can evaluate it. */
  private Expression bound(Expression expression) {
    try {
      if (expression != null) {
        Binder.bind(schema.table().asStruct(), expression, true);
      }
      return expression;
    } catch (ValidationException e) {
      return null;
    }
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed;
  }

  @Override
  public void pruneColumns(StructType requiredSchema) {
    wanted = requiredSchema;
  }

  @Override
  public Scan build() {
    return new KeyedScan(
        spark,
        table,
        schema,
        snapshotId,
        wanted,
        fileFilter(),
        KeyFilter.of(filters(), schema.key()));
  }

  private List<Filter> filters() {
    List<Filter> filters = new ArrayList<>();
    for (Predicate predicate : pushed) {
      PredicateUtils.toV1(predicate).foreach(filters::add);
    }
    return filters;
  }

  /**
   * Iceberg's statistics of uuids are not in one order everywhere, so ranges of them choose no
   * files.
   */
  private Expression fileFilter() {
    Expression buckets = BucketFilter.of(schema, filter);
    boolean hasUuid =
        schema.key().stream().anyMatch(field -> field.type().typeId() == Type.TypeID.UUID);
    return hasUuid ? buckets : Expressions.and(filter, buckets);
  }
}
