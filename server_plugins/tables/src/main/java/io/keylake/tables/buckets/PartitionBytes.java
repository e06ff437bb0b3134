package io.keylake.tables.buckets;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import org.apache.iceberg.util.ByteBuffers;

/** Bytes as a value of a partition: equal ones are one partition, which arrays would not be. */
public final class PartitionBytes implements Serializable {
  private static final long serialVersionUID = 1L;

  private final byte[] bytes;

  private PartitionBytes(byte[] bytes) {
    this.bytes = bytes;
  }

  static PartitionBytes of(ByteBuffer buffer) {
    return new PartitionBytes(ByteBuffers.toByteArray(buffer).clone());
  }

  /** A copy of the bytes. */
  public byte[] bytes() {
    return bytes.clone();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PartitionBytes same && Arrays.equals(bytes, same.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  /** The bytes in hexadecimal, as settlements name a partition. */
  @Override
  public String toString() {
    return HexFormat.of().formatHex(bytes);
  }
}
