package io.keylake.spark.parquet;

import io.keylake.tables.planning.KeySlice;
import java.io.Serializable;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.filter2.predicate.Operators.BinaryColumn;
import org.apache.parquet.filter2.predicate.Operators.IntColumn;
import org.apache.parquet.filter2.predicate.Operators.LongColumn;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;
import org.jspecify.annotations.Nullable;

/**
 * The rows of the files of a section that are worth opening. Row groups and pages are left out
 * where none is; so what is read may hold other rows, too.
 *
 * @param filter from the query
 * @param slice the part of the section that is read; null for all of it
 * @param firstKey field id of the column that the slice speaks of
 * @param asksKeys whether files are asked for their keys before their pages are looked at
 */
public record RowChoice(
    FileFilter filter, @Nullable KeySlice slice, int firstKey, boolean asksKeys) {

  /** All rows. */
  public static final RowChoice ALL = new RowChoice(FileFilter.NONE, null, 0, false);

  /** The predicate for a file, over the columns that are read; null for none. */
  @Nullable FilterPredicate on(MessageType columns) {
    FilterPredicate predicate = filter.on(columns);
    if (slice == null) {
      return predicate;
    }
    for (Type field : columns.getFields()) {
      if (field.getId() != null && field.getId().intValue() == firstKey && field.isPrimitive()) {
        PrimitiveType column = field.asPrimitiveType();
        Serializable lower = slice.lower();
        Serializable upper = slice.upper();
        predicate = and(predicate, lower == null ? null : atLeast(column, lower));
        if (upper != null && !slice.isOneValue()) { // of one value the filter speaks
          predicate = and(predicate, below(column, upper));
        }
      }
    }
    return predicate;
  }

  private static @Nullable FilterPredicate and(
      @Nullable FilterPredicate one, @Nullable FilterPredicate two) {
    if (one == null || two == null) {
      return one == null ? two : one;
    }
    return FilterApi.and(one, two);
  }

  private static @Nullable FilterPredicate atLeast(PrimitiveType column, Serializable value) {
    return switch (column.getPrimitiveTypeName()) {
      case INT32 -> FilterApi.gtEq(ints(column), Math.toIntExact((Long) value));
      case INT64 -> FilterApi.gtEq(longs(column), (Long) value);
      case BINARY -> FilterApi.gtEq(texts(column), Binary.fromString((String) value));
      default -> null;
    };
  }

  private static @Nullable FilterPredicate below(PrimitiveType column, Serializable value) {
    return switch (column.getPrimitiveTypeName()) {
      case INT32 -> FilterApi.lt(ints(column), Math.toIntExact((Long) value));
      case INT64 -> FilterApi.lt(longs(column), (Long) value);
      case BINARY -> FilterApi.lt(texts(column), Binary.fromString((String) value));
      default -> null;
    };
  }

  private static IntColumn ints(PrimitiveType column) {
    return FilterApi.intColumn(column.getName());
  }

  private static LongColumn longs(PrimitiveType column) {
    return FilterApi.longColumn(column.getName());
  }

  private static BinaryColumn texts(PrimitiveType column) {
    return FilterApi.binaryColumn(column.getName());
  }
}
