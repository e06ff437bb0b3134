package io.keylake.spark.integrity;

import io.keylake.tables.FileDamage;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import java.util.UUID;
import java.util.zip.CRC32;

/**
 * The checksum that a footer carries of itself and of the indexes of pages, which Parquet has no
 * checksums for: their least and greatest values decide which rows are not read at all.
 *
 * <p>It is an extension as Parquet's format allows it: the last field of the footer, of a number
 * that readers do not know and pass over.
 *
 * <pre>
 *   08 ff ff 01 20            a field of 32 bytes
 *   long                      where the indexes begin; they end where the footer begins
 *   int                       CRC-32 of the indexes
 *   int                       CRC-32 of the footer up to here
 *   4732d774 ... 3d06         whose extension it is
 *   00                        end of the footer
 * </pre>
 *
 * Its numbers have their lowest byte first.
 *
 * @param begin of the indexes
 * @param crc of the indexes
 */
public record FooterChecksum(long begin, int crc) {
  private static final byte[] FIELD = {0x08, (byte) 0xff, (byte) 0xff, 0x01, 32};
  private static final UUID OURS = UUID.fromString("4732d774-01e9-4f6f-9b64-d6116d3a3d06");
  private static final int BYTES_BEHIND_CRC = 2 * Long.BYTES + 1;
  private static final int BYTES_OF_NUMBERS = Long.BYTES + 2 * Integer.BYTES;
  private static final int BYTES = BYTES_OF_NUMBERS + BYTES_BEHIND_CRC;

  /** A footer with this checksum. */
  byte[] in(byte[] footer) {
    int end = footer.length - 1; // of its fields: a byte ends them
    ByteBuffer whole =
        ByteBuffer.allocate(end + FIELD.length + BYTES).order(ByteOrder.LITTLE_ENDIAN);
    whole.put(footer, 0, end).put(FIELD).putLong(begin).putInt(crc);
    whole.putInt(crc(whole.array(), whole.position()));
    whole.order(ByteOrder.BIG_ENDIAN);
    whole.putLong(OURS.getMostSignificantBits()).putLong(OURS.getLeastSignificantBits());
    return whole.put((byte) 0).array();
  }

  /** The checksum in a footer that fits it; none where the writer has put none there. */
  public static Optional<FooterChecksum> of(byte[] footer) throws FileDamage {
    int at = footer.length - BYTES;
    if (at < FIELD.length) {
      return Optional.empty();
    }
    ByteBuffer end = ByteBuffer.wrap(footer, at, BYTES).order(ByteOrder.LITTLE_ENDIAN);
    long begin = end.getLong();
    int crcOfIndexes = end.getInt();
    int crcAt = end.position();
    int stated = end.getInt();
    end.order(ByteOrder.BIG_ENDIAN);
    if (!OURS.equals(new UUID(end.getLong(), end.getLong()))) {
      return Optional.empty();
    }
    if (crc(footer, crcAt) != stated) {
      throw new FileDamage("its footer does not fit its checksum");
    }
    return Optional.of(new FooterChecksum(begin, crcOfIndexes));
  }

  /** Compares the indexes with what was written. */
  public void check(byte[] indexes) throws FileDamage {
    if (crc(indexes, indexes.length) != crc) {
      throw new FileDamage("the indexes of its pages do not fit their checksum");
    }
  }

  private static int crc(byte[] bytes, int length) {
    CRC32 crc = new CRC32();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }
}
