package io.keylake.spark.layout;

import io.keylake.spark.read.scan.RelationOptions;
import io.keylake.spark.table.KeyedTable;
import io.keylake.tables.spec.KeyGroups;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The layout of rows in the partitions of a plan: those of a keyed table, or of a frame that was
 * repartitioned like one. All are columns of that plan.
 *
 * @param hashing how a bucket is computed
 * @param partitionBy the key columns by which rows are partitioned before they are bucketed
 * @param bucketBy the key columns that decide the bucket
 * @param key the key columns, null where the plan has lost one
 * @param hidden the columns with the bucket and, where the table has groups, with the group; none
 *     where Spark knows the bucket as Iceberg's transform of one column
 */
record KeyLayout(
    Hashing hashing,
    List<Attribute> partitionBy,
    List<Attribute> bucketBy,
    List<Attribute> key,
    List<AttributeReference> hidden) {

  /**
   * The computation of a bucket.
   *
   * @param groups what groups of keys there are, or null
   * @param types of the hashed columns, as far as they change the hash
   */
  record Hashing(int buckets, @Nullable KeyGroups groups, List<String> types) {
    static Hashing of(KeyedTable table, DataSourceV2Relation relation) {
      KeyedSchema schema = table.keyed();
      Integer wanted = RelationOptions.buckets(relation.options());
      int found = table.buckets(relation.options());
      return new Hashing(
          wanted == null ? found : wanted,
          schema.spec().groups(),
          schema.bucketBy().stream()
              .map(
                  field ->
                      switch (field.type().typeId()) {
                        case INTEGER, LONG -> "whole number";
                        default -> field.type().toString();
                      })
              .toList());
    }

    static Hashing of(int buckets, List<Attribute> columns) {
      return new Hashing(
          buckets, null, columns.stream().map(column -> type(column.dataType())).toList());
    }

    private static String type(DataType type) {
      if (type.equals(DataTypes.IntegerType) || type.equals(DataTypes.LongType)) {
        return "whole number";
      }
      if (type.equals(DataTypes.TimestampType)) {
        return "timestamptz";
      }
      return type.equals(DataTypes.TimestampNTZType)
          ? "timestamp"
          : type.simpleString().replace(",", ", ");
    }
  }

  /**
   * The layout of the rows of a keyed table, or null where the relation is none.
   *
   * @param byBucket whether the bucket is to be a column in any case
   */
  static @Nullable KeyLayout of(DataSourceV2Relation relation, boolean byBucket) {
    if (!(relation.table() instanceof KeyedTable table)) {
      return null;
    }
    KeyedSchema schema = table.keyed();
    List<AttributeReference> hidden = new ArrayList<>();
    if (schema.hasBucketColumn() || byBucket || read(relation, KeyedSchema.BUCKET) != null) {
      hidden.add(hidden(relation, KeyedSchema.BUCKET));
    }
    if (schema.hasGroups()) {
      hidden.add(hidden(relation, KeyedSchema.GROUP));
    }
    KeyLayout whole =
        new KeyLayout(
            Hashing.of(table, relation),
            columns(relation, schema.spec().partitionBy()),
            columns(relation, schema.spec().bucketBy()),
            columns(relation, schema.spec().key()),
            hidden);
    return whole.bucketBy.contains(null) || whole.partitionBy.contains(null) ? null : whole;
  }

  /** The layout of rows that were repartitioned by their bucket. */
  static KeyLayout of(List<Attribute> bucketBy, int buckets, AttributeReference bucket) {
    return new KeyLayout(
        Hashing.of(buckets, bucketBy),
        List.of(),
        List.copyOf(bucketBy),
        List.of(),
        List.of(bucket));
  }

  private static @Nullable AttributeReference read(DataSourceV2Relation relation, String name) {
    return named(CollectionConverters.asJava(relation.output()), name);
  }

  private static @Nullable AttributeReference hidden(DataSourceV2Relation relation, String name) {
    AttributeReference read = read(relation, name);
    return read != null
        ? read
        : named(CollectionConverters.asJava(relation.metadataOutput()), name);
  }

  private static List<Attribute> columns(DataSourceV2Relation relation, List<String> names) {
    List<Attribute> columns = new ArrayList<>();
    for (String name : names) {
      columns.add(read(relation, name));
    }
    return columns;
  }

  private static @Nullable AttributeReference named(
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
  @Nullable KeyLayout renamed(Map<ExprId, Attribute> seen) {
    List<Attribute> partitions = renamed(partitionBy, seen);
    List<Attribute> buckets = renamed(bucketBy, seen);
    return partitions.contains(null) || buckets.contains(null)
        ? null
        : new KeyLayout(hashing, partitions, buckets, renamed(key, seen), hidden);
  }

  private static List<Attribute> renamed(List<Attribute> columns, Map<ExprId, Attribute> seen) {
    List<Attribute> found = new ArrayList<>();
    for (Attribute column : columns) {
      found.add(column == null ? null : seen.get(column.exprId()));
    }
    return found;
  }

  /** The columns that order the rows of a partition: first those that are equal in all of them. */
  List<Attribute> order() {
    List<Attribute> order = new ArrayList<>(partitionBy);
    order.addAll(hidden);
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
   * Rows that are equal in the columns of {@code partitionBy} and {@code bucketBy}, one by one, lie
   * in equal partitions of both.
   */
  boolean isLike(KeyLayout other) {
    return hashing.equals(other.hashing) && partitionBy.size() == other.partitionBy.size();
  }

  /** Rows that are equal in these columns lie in one partition. */
  boolean isAmong(List<Expression> columns) {
    return Stream.concat(partitionBy.stream(), bucketBy.stream())
        .allMatch(column -> columns.stream().anyMatch(column::semanticEquals));
  }

  /** The number of buckets by which both would be alike, or null where there is none. */
  @Nullable Integer commonBuckets(KeyLayout other) {
    int few = Math.min(hashing.buckets(), other.hashing.buckets());
    int many = Math.max(hashing.buckets(), other.hashing.buckets());
    boolean isSame =
        hashing.types().equals(other.hashing.types())
            && hashing.groups() == null
            && other.hashing.groups() == null
            && partitionBy.size() == other.partitionBy.size();
    return isSame && many % few == 0 ? few : null;
  }

  /** Spark reads the bucket as a column. */
  boolean isColumn() {
    return !hidden.isEmpty();
  }
}
