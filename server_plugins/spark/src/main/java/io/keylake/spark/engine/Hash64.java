package io.keylake.spark.engine;

import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** The hash behind Spark's {@code xxhash64}. */
public final class Hash64 {
  private Hash64() {}

  public static long of(long value, long seed) {
    return XXH64.hashLong(value, seed);
  }

  public static long of(byte[] bytes, long seed) {
    return XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, seed);
  }

  public static long of(UTF8String text, long seed) {
    return XXH64.hashUnsafeBytes(text.getBaseObject(), text.getBaseOffset(), text.numBytes(), seed);
  }
}
