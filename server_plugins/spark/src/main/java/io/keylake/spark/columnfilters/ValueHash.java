package io.keylake.spark.columnfilters;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.UUID;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.DecimalType;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.io.api.Binary;
import org.apache.spark.sql.catalyst.InternalRow;
import org.jspecify.annotations.Nullable;

/**
 * The hash of a value of a row as Parquet's filters have it: XXH64 of the bytes that a page has of
 * the value. It is for one thread.
 */
interface ValueHash {
  int MOST_DIGITS_OF_INT = 9;
  int MOST_DIGITS_OF_LONG = 18;

  long of(InternalRow row, int at);

  /** The hash of values of a type; null where Parquet has no filters of it. */
  static @Nullable ValueHash of(Type type) {
    BlockSplitBloomFilter hashing = hashing();
    return switch (type.typeId()) {
      case INTEGER, DATE -> (row, at) -> hashing.hash(row.getInt(at));
      case LONG, TIMESTAMP -> (row, at) -> hashing.hash(row.getLong(at));
      case STRING -> (row, at) -> hashing.hash(binary(row.getUTF8String(at).getBytes()));
      case BINARY -> (row, at) -> hashing.hash(binary(row.getBinary(at)));
      case UUID ->
          (row, at) ->
              hashing.hash(binary(bytes(UUID.fromString(row.getUTF8String(at).toString()))));
      case DECIMAL -> ofDecimal(hashing, (DecimalType) type);
      default -> null;
    };
  }

  /** Parquet's own hash, which comes with a filter. */
  static BlockSplitBloomFilter hashing() {
    return new BlockSplitBloomFilter(ColumnFilter.BLOCK_BYTES);
  }

  private static ValueHash ofDecimal(BlockSplitBloomFilter hashing, DecimalType type) {
    int digits = type.precision();
    int scale = type.scale();
    if (digits <= MOST_DIGITS_OF_INT) {
      return (row, at) -> hashing.hash((int) row.getDecimal(at, digits, scale).toUnscaledLong());
    }
    if (digits <= MOST_DIGITS_OF_LONG) {
      return (row, at) -> hashing.hash(row.getDecimal(at, digits, scale).toUnscaledLong());
    }
    int length = TypeUtil.decimalRequiredBytes(digits);
    return (row, at) -> {
      BigInteger number = row.getDecimal(at, digits, scale).toJavaBigDecimal().unscaledValue();
      return hashing.hash(binary(padded(number, length)));
    };
  }

  private static Binary binary(byte[] bytes) {
    return Binary.fromConstantByteArray(bytes);
  }

  private static byte[] bytes(UUID uuid) {
    return ByteBuffer.allocate(2 * Long.BYTES)
        .putLong(uuid.getMostSignificantBits())
        .putLong(uuid.getLeastSignificantBits())
        .array();
  }

  /** A number as two's complement of so many bytes. */
  private static byte[] padded(BigInteger number, int length) {
    byte[] shortest = number.toByteArray();
    byte[] all = new byte[length];
    Arrays.fill(all, (byte) (number.signum() < 0 ? -1 : 0));
    System.arraycopy(shortest, 0, all, length - shortest.length, shortest.length);
    return all;
  }
}
