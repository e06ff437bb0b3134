package io.keylake.spark.read.scan;

import io.keylake.tables.hashing.BucketHash;
import io.keylake.tables.spec.GroupHash;
import io.keylake.tables.spec.KeyedSchema;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import org.apache.iceberg.expressions.And;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.BoundPredicate;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Narrows a read of a table whose buckets are a stored column: turns equalities on the whole of
 * {@code bucket_by} into one on the bucket, of each number of buckets that there may be files of,
 * and on the group where there is one.
 */
final class BucketFilter {
  private BucketFilter() {}

  static Expression of(KeyedSchema schema, Expression filter, Set<Integer> counts) {
    if (!schema.hasBucketColumn()) {
      return Expressions.alwaysTrue(); // Iceberg derives the bucket itself
    }
    Map<Integer, Object> equal = equalities(schema, filter);
    if (schema.hasGroups()) {
      GroupHash group = group(schema, equal);
      return group == null
          ? Expressions.alwaysTrue()
          : Expressions.and(
              Expressions.equal(KeyedSchema.BUCKET, group.bucket()),
              Expressions.equal(KeyedSchema.GROUP, group.group()));
    }
    BucketHash hash = new BucketHash();
    for (NestedField field : schema.bucketBy()) {
      Object value = equal.get(field.fieldId());
      if (value == null) {
        return Expressions.alwaysTrue();
      }
      add(hash, value);
    }
    return Expressions.in(
        KeyedSchema.BUCKET, counts.stream().map(hash::bucket).distinct().toArray());
  }

  /** A filter says one value of each of some columns. */
  static boolean namesAll(KeyedSchema schema, Expression filter, List<NestedField> columns) {
    Map<Integer, Object> equal = equalities(schema, filter);
    return columns.stream().allMatch(column -> equal.containsKey(column.fieldId()));
  }

  /** The group of all rows that a filter lets through, where there is only one. */
  static OptionalInt group(KeyedSchema schema, Expression filter) {
    GroupHash group = schema.hasGroups() ? group(schema, equalities(schema, filter)) : null;
    return group == null ? OptionalInt.empty() : OptionalInt.of(group.group());
  }

  private static @Nullable GroupHash group(KeyedSchema schema, Map<Integer, Object> equal) {
    GroupHash hash = new GroupHash(schema.spec());
    for (NestedField field : schema.bucketBy()) {
      Object value = equal.get(field.fieldId());
      if (value == null) {
        return null;
      }
      hash.add(field.type(), value);
    }
    return hash;
  }

  /** The values that a filter says columns to have, by field id. */
  static Map<Integer, Object> equalities(KeyedSchema schema, Expression filter) {
    Map<Integer, Object> equal = new HashMap<>();
    collect(Binder.bind(schema.table().asStruct(), filter, true), equal);
    return equal;
  }

  private static void collect(Expression expression, Map<Integer, Object> equal) {
    if (expression instanceof And and) {
      collect(and.left(), equal);
      collect(and.right(), equal);
    } else if (expression instanceof BoundPredicate<?> predicate
        && predicate.op() == Expression.Operation.EQ
        && predicate.isLiteralPredicate()) {
      equal.put(predicate.ref().fieldId(), predicate.asLiteralPredicate().literal().value());
    }
  }

  private static void add(BucketHash hash, Object value) {
    if (value instanceof Boolean flag) {
      hash.add(flag.booleanValue());
    } else if (value instanceof Integer || value instanceof Long) {
      hash.add(((Number) value).longValue());
    } else if (value instanceof CharSequence text) {
      hash.add(text.toString());
    } else if (value instanceof BigDecimal decimal) {
      hash.add(decimal);
    } else if (value instanceof UUID uuid) {
      hash.add(uuid);
    } else {
      ByteBuffer buffer = ((ByteBuffer) value).duplicate();
      byte[] bytes = new byte[buffer.remaining()];
      buffer.get(bytes);
      hash.add(bytes);
    }
  }
}
