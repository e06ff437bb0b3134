package io.keylake.spark.plan;

import io.keylake.spark.KeyedTable;
import io.keylake.tables.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;

/**
 * How the rows of a keyed table lie, in the columns that a plan above it sees.
 *
 * @param relation the table's place in the plan
 * @param partitionBy the key columns by which it is partitioned before it is bucketed
 * @param bucketBy the key columns that decide the bucket
 * @param key the key columns, as far as they are seen from the first one on
 * @param bucket the hidden column that Spark has to read, to know the bucket; null where a bucket
 *     is Iceberg's transform of one column
 */
record KeyLayout(
    DataSourceV2Relation relation,
    List<Attribute> partitionBy,
    List<Attribute> bucketBy,
    List<Attribute> key,
    AttributeReference bucket) {

  /** The layout of the rows of a relation, or null where it is no keyed table. */
  static KeyLayout of(DataSourceV2Relation relation) {
    if (!(relation.table() instanceof KeyedTable table)) {
      return null;
    }
    KeyedSchema schema = table.keyed();
    KeyLayout whole =
        new KeyLayout(
            relation,
            columns(relation, schema.spec().partitionBy()),
            columns(relation, schema.spec().bucketBy()),
            columns(relation, schema.spec().key()),
            schema.hasBucketColumn() ? hidden(relation, KeyedSchema.BUCKET) : null);
    return whole.bucketBy.contains(null) || whole.partitionBy.contains(null) ? null : whole;
  }

  private static List<Attribute> columns(DataSourceV2Relation relation, List<String> names) {
    List<Attribute> columns = new ArrayList<>();
    for (String name : names) {
      columns.add(named(CollectionConverters.asJava(relation.output()), name));
    }
    return columns;
  }

  private static AttributeReference hidden(DataSourceV2Relation relation, String name) {
    AttributeReference read = named(CollectionConverters.asJava(relation.output()), name);
    return read != null
        ? read
        : named(CollectionConverters.asJava(relation.metadataOutput()), name);
  }

  private static AttributeReference named(
      Iterable<? extends AttributeReference> columns, String name) {
    for (AttributeReference column : columns) {
      if (column.name().equals(name)) {
        return column;
      }
    }
    return null;
  }

  /**
   * The same layout under the names of a plan above, or null where that lacks a column by which
   * rows are put into partitions.
   *
   * @param seen what each column below is called above
   */
  KeyLayout renamed(Map<ExprId, Attribute> seen) {
    List<Attribute> partitions = renamed(partitionBy, seen);
    List<Attribute> buckets = renamed(bucketBy, seen);
    return partitions.contains(null) || buckets.contains(null)
        ? null
        : new KeyLayout(relation, partitions, buckets, renamed(key, seen), bucket);
  }

  private static List<Attribute> renamed(List<Attribute> columns, Map<ExprId, Attribute> seen) {
    List<Attribute> found = new ArrayList<>();
    for (Attribute column : columns) {
      found.add(column == null ? null : seen.get(column.exprId()));
    }
    return found;
  }

  KeyedSchema schema() {
    return ((KeyedTable) relation.table()).keyed();
  }

  /** What the rows of a partition are ordered by: first what is the same in all of them. */
  List<Attribute> order() {
    List<Attribute> order = new ArrayList<>(partitionBy);
    if (bucket != null) {
      order.add(bucket);
    }
    for (Attribute column : key) {
      if (column == null) {
        break;
      }
      if (!order.contains(column)) {
        order.add(column);
      }
    }
    return order;
  }

  /**
   * Whether rows of equal keys lie in equal partitions of both tables, where the columns of the one
   * are compared with those of the other in the order of their layouts.
   */
  boolean isLike(KeyLayout other) {
    return schema().spec().buckets() == other.schema().spec().buckets()
        && (bucket == null) == (other.bucket == null)
        && partitionBy.size() == other.partitionBy.size()
        && bucketBy.size() == other.bucketBy.size();
  }
}
