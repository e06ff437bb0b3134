package io.keylake.spark.keys;

import io.keylake.tables.GuestApi;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.DecimalType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Keys as bytes, whose order is that of the keys.
 *
 * <p>A key of one column of text or binary is its own bytes. Of any other, the columns follow each
 * other: a boolean is one byte; an int or date (days) four and a long or timestamp (microseconds)
 * eight bytes, the highest first, with the sign bit turned round; a decimal the same in sixteen, of
 * its unscaled value; a uuid its sixteen bytes; text (UTF-8) and binary end with two zero bytes,
 * and a zero byte in them is followed by 0xff.
 */
@GuestApi
public final class KeyBytes {
  private static final int DECIMAL_BYTES = 16;

  private final List<NestedField> key;
  private final boolean isPlain;
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  public KeyBytes(List<NestedField> key) {
    this.key = key;
    this.isPlain = key.size() == 1 && isText(key.get(0).type());
  }

  private static boolean isText(Type type) {
    return type.typeId() == Type.TypeID.STRING || type.typeId() == Type.TypeID.BINARY;
  }

  /**
   * @param row begins with the key
   */
  public byte[] of(InternalRow row) {
    if (isPlain) {
      return text(row, 0);
    }
    bytes.reset();
    for (int i = 0; i < key.size(); i++) {
      bytes.writeBytes(column(row, i));
    }
    return bytes.toByteArray();
  }

  private byte[] text(InternalRow row, int i) {
    return key.get(i).type().typeId() == Type.TypeID.STRING
        ? row.getUTF8String(i).getBytes()
        : row.getBinary(i);
  }

  private byte[] column(InternalRow row, int i) {
    Type type = key.get(i).type();
    return switch (type.typeId()) {
      case BOOLEAN -> new byte[] {(byte) (row.getBoolean(i) ? 1 : 0)};
      case INTEGER, DATE ->
          ByteBuffer.allocate(Integer.BYTES).putInt(row.getInt(i) ^ Integer.MIN_VALUE).array();
      case LONG, TIMESTAMP ->
          ByteBuffer.allocate(Long.BYTES).putLong(row.getLong(i) ^ Long.MIN_VALUE).array();
      case UUID -> uuid(UUID.fromString(row.getUTF8String(i).toString()));
      case DECIMAL -> decimal(row, i, (DecimalType) type);
      case STRING, BINARY -> ended(text(row, i));
      default -> throw new IllegalStateException("no key is of type " + type);
    };
  }

  private static byte[] uuid(UUID value) {
    return ByteBuffer.allocate(2 * Long.BYTES)
        .putLong(value.getMostSignificantBits())
        .putLong(value.getLeastSignificantBits())
        .array();
  }

  private static byte[] decimal(InternalRow row, int i, DecimalType type) {
    BigDecimal value = row.getDecimal(i, type.precision(), type.scale()).toJavaBigDecimal();
    BigInteger above = value.unscaledValue().add(BigInteger.ONE.shiftLeft(8 * DECIMAL_BYTES - 1));
    byte[] digits = above.toByteArray(); // it may have a zero byte in front, for its sign
    byte[] all = new byte[DECIMAL_BYTES];
    int used = Math.min(digits.length, DECIMAL_BYTES);
    System.arraycopy(digits, digits.length - used, all, DECIMAL_BYTES - used, used);
    return all;
  }

  private static byte[] ended(byte[] text) {
    ByteArrayOutputStream ended = new ByteArrayOutputStream(text.length + 2);
    for (byte each : text) {
      ended.write(each);
      if (each == 0) {
        ended.write(0xff);
      }
    }
    ended.write(0);
    ended.write(0);
    return ended.toByteArray();
  }
}
