package io.keylake.spark.read.scan;

import io.keylake.tables.buckets.PartitionBytes;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.iceberg.util.ByteBuffers;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** Values of keys and partitions, from Iceberg's form into that of Spark's rows. */
public final class SparkValue {
  private SparkValue() {}

  public static @Nullable Object of(@Nullable Object value) {
    if (value instanceof CharSequence || value instanceof UUID) {
      return UTF8String.fromString(value.toString());
    }
    if (value instanceof BigDecimal decimal) {
      return Decimal.apply(decimal);
    }
    if (value instanceof PartitionBytes bytes) {
      return bytes.bytes();
    }
    return value instanceof ByteBuffer bytes ? ByteBuffers.toByteArray(bytes) : value;
  }
}
