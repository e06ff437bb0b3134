package io.keylake.spark.metadata;

import io.keylake.tables.GuestApi;
import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** Rows that are computed on the driver, when they are asked for. */
@GuestApi
public record LocalRows(
    String description, StructType readSchema, Supplier<List<InternalRow>> computed)
    implements LocalScan {

  /** A row of Java values: text and lists of text become Spark's own. */
  public static InternalRow row(@Nullable Object... values) {
    Object[] internal = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      internal[i] = internal(values[i]);
    }
    return new GenericInternalRow(internal);
  }

  private static @Nullable Object internal(@Nullable Object value) {
    if (value instanceof Collection<?> list) {
      return new GenericArrayData(list.stream().map(LocalRows::internal).toArray());
    }
    return value instanceof String text ? UTF8String.fromString(text) : value;
  }

  @Override
  public InternalRow[] rows() {
    return computed.get().toArray(InternalRow[]::new);
  }
}
