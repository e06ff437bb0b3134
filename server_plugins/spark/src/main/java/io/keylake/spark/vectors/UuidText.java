package io.keylake.spark.vectors;

import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.spark.unsafe.types.UTF8String;

/** A uuid as files have it, 16 bytes, becomes the text that Spark knows it by. */
final class UuidText {
  private UuidText() {}

  static UTF8String of(byte[] stored) {
    ByteBuffer bytes = ByteBuffer.wrap(stored);
    return UTF8String.fromString(new UUID(bytes.getLong(), bytes.getLong()).toString());
  }
}
