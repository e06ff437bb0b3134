package io.keylake.plaindeletes.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Numbers in arrays of bytes. */
final class Bytes {
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);

  private Bytes() {}

  static int getInt(byte[] bytes, int offset) {
    return (int) INTS.get(bytes, offset);
  }

  static void setInt(byte[] bytes, int offset, int value) {
    INTS.set(bytes, offset, value);
  }
}
