package io.keylake.spark.metadata;

import io.keylake.tables.GuestApi;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** Rows that are computed on the driver, when they are asked for. */
@GuestApi
public record LocalRows(
    String description, StructType readSchema, Supplier<List<InternalRow>> computed)
    implements LocalScan {
  @Override
  public InternalRow[] rows() {
    return computed.get().toArray(InternalRow[]::new);
  }
}
