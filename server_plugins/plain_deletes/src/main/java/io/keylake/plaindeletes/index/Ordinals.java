package io.keylake.plaindeletes.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.LongStream;

/**
 * The sequence numbers of a group of delete files, by their ordinals: 1 for the oldest. Beside each
 * key there is an ordinal, in as few bytes as will do; 0 is no delete.
 */
final class Ordinals {
  private static final VarHandle SHORTS =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);

  private final long[] sequenceNumbers;
  private final int width;

  Ordinals(LongStream sequenceNumbers) {
    this.sequenceNumbers = sequenceNumbers.sorted().distinct().toArray();
    int most = this.sequenceNumbers.length;
    width = most <= 0xff ? Byte.BYTES : most <= 0xffff ? Short.BYTES : Integer.BYTES;
  }

  int of(long sequenceNumber) {
    return Arrays.binarySearch(sequenceNumbers, sequenceNumber) + 1;
  }

  /** The sequence number, or -1 for no delete. */
  long sequenceNumber(int ordinal) {
    return ordinal == 0 ? -1 : sequenceNumbers[ordinal - 1];
  }

  /** The number of bytes that an ordinal needs. */
  int width() {
    return width;
  }

  /** The ordinal in these bytes from an offset on. */
  int get(byte[] bytes, int offset) {
    return switch (width) {
      case Byte.BYTES -> bytes[offset] & 0xff;
      case Short.BYTES -> (short) SHORTS.get(bytes, offset) & 0xffff;
      default -> (int) INTS.get(bytes, offset);
    };
  }

  void set(byte[] bytes, int offset, int ordinal) {
    switch (width) {
      case Byte.BYTES -> bytes[offset] = (byte) ordinal;
      case Short.BYTES -> SHORTS.set(bytes, offset, (short) ordinal);
      default -> INTS.set(bytes, offset, ordinal);
    }
  }
}
