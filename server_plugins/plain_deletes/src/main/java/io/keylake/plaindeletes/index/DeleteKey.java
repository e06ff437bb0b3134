package io.keylake.plaindeletes.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.math.BigDecimal;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.UUID;

/**
 * The values of a row in the equality fields, to be filled for one row after the other.
 *
 * <p>Every key is a head of 64 bits and a tail. Where the only field is a number, the head is the
 * number, mixed so that numbers in a row spread, and there is no tail: equal heads are equal keys.
 * Other keys have their values as bytes in the tail and a hash of them in the head.
 */
public final class DeleteKey {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long FIRST_FACTOR = 0xbf58476d1ce4e5b9L;
  private static final long SECOND_FACTOR = 0x94d049bb133111ebL;
  private static final int MOST_VARIABLE_BYTES = 10;

  private final boolean isNumber;
  private long number;
  private boolean isNull;
  private byte[] tail = new byte[32];
  private int length;

  DeleteKey(boolean isNumber) {
    this.isNumber = isNumber;
  }

  /** Forgets the values of the row before. */
  public void clear() {
    length = 0;
    isNull = false;
  }

  public void addNull() {
    if (isNumber) {
      isNull = true;
    } else {
      ensure(1);
      tail[length++] = 0;
    }
  }

  /**
   * The value of a field of a fixed size: a number, a date, a time, a flag, the bits of a float.
   */
  public void addNumber(long value) {
    if (isNumber) {
      number = value;
    } else {
      ensure(1 + MOST_VARIABLE_BYTES);
      tail[length++] = 1;
      putVariable((value << 1) ^ (value >> 63));
    }
  }

  public void addFloat(float value) {
    addNumber(Float.floatToIntBits(value));
  }

  public void addDouble(double value) {
    addNumber(Double.doubleToLongBits(value));
  }

  /** All values of a field have the same scale. */
  public void addDecimal(BigDecimal value) {
    byte[] unscaled = value.unscaledValue().toByteArray();
    addBytes(unscaled, 0, unscaled.length);
  }

  public void addUuid(UUID value) {
    addNumber(value.getMostSignificantBits());
    addNumber(value.getLeastSignificantBits());
  }

  public void addBytes(byte[] value, int offset, int count) {
    ensure(MOST_VARIABLE_BYTES + count);
    putVariable(count + 1L);
    System.arraycopy(value, offset, tail, length, count);
    length += count;
  }

  private void putVariable(long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      tail[length++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    tail[length++] = (byte) rest;
  }

  private void ensure(int more) {
    if (length + more > tail.length) {
      tail = Arrays.copyOf(tail, Math.max(tail.length * 2, length + more));
    }
  }

  /** The key is a single number that is null, and so is in no table of numbers. */
  boolean isNullNumber() {
    return isNull;
  }

  long head() {
    return isNumber ? mixed(number) : hash(tail, 0, length);
  }

  byte[] tail() {
    return tail;
  }

  int tailLength() {
    return length;
  }

  /** One to one, so that no two numbers become the same. */
  private static long mixed(long value) {
    long once = (value ^ (value >>> 30)) * FIRST_FACTOR;
    long twice = (once ^ (once >>> 27)) * SECOND_FACTOR;
    return twice ^ (twice >>> 31);
  }

  static long hash(byte[] bytes, int offset, int count) {
    long hash = count * SECOND_FACTOR;
    int end = offset + count;
    int at = offset;
    for (; at + Long.BYTES <= end; at += Long.BYTES) {
      hash = mixed(hash ^ (long) LONGS.get(bytes, at)) * FIRST_FACTOR;
    }
    long rest = 0;
    for (; at < end; at++) {
      rest = rest << 8 | bytes[at] & 0xff;
    }
    return mixed(hash ^ rest);
  }
}
