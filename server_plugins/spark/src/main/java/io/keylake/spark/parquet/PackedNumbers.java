package io.keylake.spark.parquet;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.parquet.column.values.bitpacking.BytePacker;
import org.apache.parquet.column.values.bitpacking.Packer;

/**
 * Numbers of a few bits each, as Parquet has levels and the numbers of dictionary entries:
 * stretches of one number, and groups of eight.
 */
final class PackedNumbers {
  private static final int GROUP = 8;

  private PackedNumbers() {}

  /**
   * An array with room for so many numbers.
   *
   * @param old taken where it is large enough
   */
  static int[] room(int[] old, int count) {
    int most = count + GROUP - 1; // a group may begin with the last one
    return old.length >= most ? old : new int[most];
  }

  /**
   * @param into has {@link #room} for them
   */
  static void unpack(byte[] packed, int begin, int bits, int[] into, int count) {
    BytePacker packer = Packer.LITTLE_ENDIAN.newBytePacker(bits);
    ByteBuffer all = ByteBuffer.wrap(packed);
    int at = begin;
    int done = 0;
    while (done < count) {
      int header = 0;
      int shift = 0;
      byte next;
      do {
        next = packed[at++];
        header |= (next & 0x7F) << shift;
        shift += 7;
      } while (next < 0);
      int many = header >>> 1;
      if ((header & 1) == 0) {
        int number = 0;
        for (int i = 0; i < bits; i += Byte.SIZE) {
          number |= (packed[at++] & 0xFF) << i;
        }
        int end = Math.min(count, done + Math.max(many, 0));
        Arrays.fill(into, done, end, number);
        done = end;
      } else {
        for (int i = 0; i < many && done < count; i++) {
          if (at + bits > packed.length) { // the last group may be cut
            byte[] whole = Arrays.copyOfRange(packed, at, at + bits);
            packer.unpack8Values(ByteBuffer.wrap(whole), 0, into, done);
          } else {
            packer.unpack8Values(all, at, into, done);
          }
          at += bits;
          done += GROUP;
        }
      }
    }
  }
}
