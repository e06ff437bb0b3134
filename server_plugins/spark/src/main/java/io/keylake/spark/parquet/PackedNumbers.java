package io.keylake.spark.parquet;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.parquet.column.values.bitpacking.BytePacker;
import org.apache.parquet.column.values.bitpacking.Packer;

/**
 * Numbers of a few bits each, as Parquet has levels and the numbers of dictionary entries, one
 * after another: stretches of one number, and groups of eight.
 */
final class PackedNumbers {
  private static final int GROUP = 8;

  private final byte[] packed;
  private final ByteBuffer buffer;
  private final int bits;
  private final BytePacker packer;
  private final int[] group = new int[GROUP];
  private int groupAt = GROUP;
  private int at;
  private int number;
  private int repeated; // how often the number comes again
  private int groups; // that follow

  PackedNumbers(byte[] packed, int begin, int bits) {
    this.packed = packed;
    this.buffer = ByteBuffer.wrap(packed);
    this.at = begin;
    this.bits = bits;
    this.packer = Packer.LITTLE_ENDIAN.newBytePacker(bits);
  }

  /** The next numbers. */
  void read(int[] into, int first, int count) {
    int done = first;
    int end = first + count;
    while (done < end) {
      if (groupAt < GROUP) {
        int many = Math.min(GROUP - groupAt, end - done);
        System.arraycopy(group, groupAt, into, done, many);
        groupAt += many;
        done += many;
      } else if (repeated > 0) {
        int many = Math.min(repeated, end - done);
        Arrays.fill(into, done, done + many, number);
        repeated -= many;
        done += many;
      } else if (groups > 0) {
        while (groups > 0 && end - done >= GROUP) {
          unpack(into, done);
          done += GROUP;
        }
        if (groups > 0 && done < end) {
          unpack(group, 0);
          groupAt = 0;
        }
      } else {
        readHeader();
      }
    }
  }

  /** Passes numbers over; groups that hold none that is read are not unpacked. */
  void skip(int count) {
    int left = count;
    while (left > 0) {
      if (groupAt < GROUP) {
        int many = Math.min(GROUP - groupAt, left);
        groupAt += many;
        left -= many;
      } else if (repeated > 0) {
        int many = Math.min(repeated, left);
        repeated -= many;
        left -= many;
      } else if (groups > 0) {
        int many = Math.min(groups, left / GROUP);
        at += many * bits;
        groups -= many;
        left -= many * GROUP;
        if (groups > 0 && left > 0) {
          unpack(group, 0);
          groupAt = 0;
        }
      } else {
        readHeader();
      }
    }
  }

  /**
   * Passes numbers of one bit over.
   *
   * @return how many of them are 1
   */
  int skipOnes(int count) {
    int ones = 0;
    int left = count;
    while (left > 0) {
      if (groupAt < GROUP) {
        ones += group[groupAt++];
        left--;
      } else if (repeated > 0) {
        int many = Math.min(repeated, left);
        ones += many * number;
        repeated -= many;
        left -= many;
      } else if (groups > 0) {
        while (groups > 0 && left >= GROUP) {
          ones += Integer.bitCount(packed[at++] & 0xFF);
          groups--;
          left -= GROUP;
        }
        if (groups > 0 && left > 0) {
          unpack(group, 0);
          groupAt = 0;
        }
      } else {
        readHeader();
      }
    }
    return ones;
  }

  private void unpack(int[] into, int first) {
    if (at + bits > packed.length) { // the last group may be cut
      packer.unpack8Values(
          ByteBuffer.wrap(Arrays.copyOfRange(packed, at, at + bits)), 0, into, first);
    } else {
      packer.unpack8Values(buffer, at, into, first);
    }
    at += bits;
    groups--;
  }

  private void readHeader() {
    int header = 0;
    int shift = 0;
    byte next;
    do {
      next = packed[at++];
      header |= (next & 0x7F) << shift;
      shift += 7;
    } while (next < 0);
    if ((header & 1) != 0) {
      groups = header >>> 1;
      return;
    }
    repeated = header >>> 1;
    number = 0;
    for (int i = 0; i < bits; i += Byte.SIZE) {
      number |= (packed[at++] & 0xFF) << i;
    }
  }
}
