package io.keylake.tables.hashing;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import org.apache.commons.codec.digest.MurmurHash3;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;

/**
 * The bucket of a compound key: murmur3 (32 bits, seed 0) over all of its columns together.
 *
 * <p>Columns follow each other in {@code bucket_by} order. Whole numbers, dates (days) and
 * timestamps (microseconds) are 8 bytes, little-endian; a boolean is one byte; a string (UTF-8),
 * binary, decimal (unscaled, shortest two's complement, big-endian) or uuid (16 bytes, big-endian)
 * is its length in 4 bytes, little-endian, and its bytes.
 */
public final class BucketHash {
  private ByteBuffer bytes = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);

  /** The columns are several, or one that Iceberg's own bucket transform cannot serve. */
  public static boolean isNeeded(List<NestedField> bucketBy) {
    Type.TypeID first = bucketBy.get(0).type().typeId();
    return bucketBy.size() > 1 || first == Type.TypeID.UUID || first == Type.TypeID.BOOLEAN;
  }

  public BucketHash reset() {
    bytes.clear();
    return this;
  }

  public BucketHash add(boolean value) {
    room(1).put((byte) (value ? 1 : 0));
    return this;
  }

  public BucketHash add(long value) {
    room(Long.BYTES).putLong(value);
    return this;
  }

  public BucketHash add(byte[] value) {
    room(Integer.BYTES + value.length).putInt(value.length).put(value);
    return this;
  }

  public BucketHash add(String value) {
    return add(value.getBytes(StandardCharsets.UTF_8));
  }

  public BucketHash add(BigDecimal value) {
    return add(value.unscaledValue().toByteArray());
  }

  public BucketHash add(UUID value) {
    return add(uuidBytes(value));
  }

  public int bucket(int buckets) {
    int hash = MurmurHash3.hash32x86(bytes.array(), 0, bytes.position(), 0);
    return (hash & Integer.MAX_VALUE) % buckets;
  }

  static byte[] uuidBytes(UUID value) {
    return ByteBuffer.allocate(16)
        .putLong(value.getMostSignificantBits())
        .putLong(value.getLeastSignificantBits())
        .array();
  }

  private ByteBuffer room(int more) {
    if (bytes.remaining() < more) {
      int needed = Math.addExact(bytes.position(), more);
      ByteBuffer larger =
          ByteBuffer.allocate(Math.max(needed, 2 * bytes.capacity()))
              .order(ByteOrder.LITTLE_ENDIAN);
      larger.put(bytes.flip());
      bytes = larger;
    }
    return bytes;
  }
}
