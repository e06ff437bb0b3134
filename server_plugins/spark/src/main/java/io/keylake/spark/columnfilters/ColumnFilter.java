package io.keylake.spark.columnfilters;

import io.keylake.tables.FileDamage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/**
 * The place of the filter of one column in one row group. It is Parquet's split-block Bloom filter:
 * a hash names a block of 32 bytes, and bits in it.
 *
 * @param rowGroup its number in the file
 * @param field id of the column
 * @param begin of its blocks in the file
 * @param bytes of its blocks
 * @param checksums the CRC-32 of each part of {@link #PART_BYTES}, of which the last may be shorter
 */
record ColumnFilter(int rowGroup, int field, long begin, int bytes, List<Long> checksums) {
  /** The number of bytes that are read and compared with their checksum at once. */
  static final int PART_BYTES = 16 << 10;

  static final int BLOCK_BYTES = 32;

  ColumnFilter {
    checksums = List.copyOf(checksums);
  }

  static ColumnFilter of(int rowGroup, int field, long begin, byte[] blocks) {
    List<Long> checksums = new ArrayList<>();
    for (int at = 0; at < blocks.length; at += PART_BYTES) {
      int end = Math.min(at + PART_BYTES, blocks.length);
      checksums.add(crc(Arrays.copyOfRange(blocks, at, end)));
    }
    return new ColumnFilter(rowGroup, field, begin, blocks.length, checksums);
  }

  /** The place of the block of a hash, among the blocks. */
  int block(long hash) {
    long blocks = bytes / BLOCK_BYTES;
    return Math.toIntExact((hash >>> Integer.SIZE) * blocks >>> Integer.SIZE) * BLOCK_BYTES;
  }

  int bytesOf(int part) {
    return Math.min(PART_BYTES, bytes - part * PART_BYTES);
  }

  void check(int part, byte[] content) throws FileDamage {
    if (crc(content) != checksums.get(part)) {
      throw new FileDamage("the filter of its keys does not fit its checksum");
    }
  }

  private static long crc(byte[] bytes) {
    CRC32 crc = new CRC32();
    crc.update(bytes);
    return crc.getValue();
  }
}
