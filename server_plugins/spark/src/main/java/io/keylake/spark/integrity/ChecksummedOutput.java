package io.keylake.spark.integrity;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.stream.LongStream;
import java.util.zip.CRC32;
import org.apache.hadoop.util.CrcUtil;
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.encryption.EncryptionKeyMetadata;
import org.apache.iceberg.encryption.NativeEncryptionOutputFile;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.Util;

/**
 * A Parquet file that gets a {@link FooterChecksum} while it is written.
 *
 * <p>The writer asks for its position before and after each part. The last part is held back, until
 * the next one has begun: the last one of all is the footer. Of the parts before it only their
 * checksums are known, and those of the indexes are put together.
 *
 * @param more bytes that come before the footer
 */
public record ChecksummedOutput(OutputFile file, BytesBeforeFooter more) implements OutputFile {
  private static final byte[] MAGIC = {'P', 'A', 'R', '1'};
  private static final int BYTES_BEHIND_FOOTER = Integer.BYTES + MAGIC.length;

  /** A footer that has more gets no checksum. */
  private static final int MOST_BYTES_HELD = 32 << 20;

  /**
   * The same file with a checksum and more bytes; one that is encrypted has the checksums of its
   * cipher alone.
   */
  public static EncryptedOutputFile of(EncryptedOutputFile file, BytesBeforeFooter more) {
    if (file instanceof NativeEncryptionOutputFile) {
      return file;
    }
    EncryptionKeyMetadata key = file.keyMetadata();
    return EncryptedFiles.encryptedOutput(
        new ChecksummedOutput(file.encryptingOutputFile(), more), key);
  }

  @Override
  public PositionOutputStream create() {
    return new Parts(file.create(), more);
  }

  @Override
  public PositionOutputStream createOrOverwrite() {
    return new Parts(file.createOrOverwrite(), more);
  }

  @Override
  public String location() {
    return file.location();
  }

  @Override
  public InputFile toInputFile() {
    return file.toInputFile();
  }

  private record Part(long begin, long bytes, long crc) {}

  private static final class Held extends ByteArrayOutputStream {
    void release(int bytes, OutputStream into) throws IOException {
      into.write(buf, 0, bytes);
      count -= bytes;
      System.arraycopy(buf, bytes, buf, 0, count);
    }
  }

  private static final class Parts extends PositionOutputStream {
    private final PositionOutputStream file;
    private final BytesBeforeFooter more;
    private final Held held = new Held();
    private final CRC32 crc = new CRC32();
    private final Deque<Part> parts = new ArrayDeque<>();
    private long begin; // of the part at hand
    private long position;
    private boolean isClosed;

    Parts(PositionOutputStream file, BytesBeforeFooter more) {
      this.file = file;
      this.more = more;
    }

    @Override
    public long getPos() throws IOException {
      if (position > begin && !isClosed) {
        parts.add(new Part(begin, position - begin, crc.getValue()));
        crc.reset();
        held.release((int) Math.max(held.size() - (position - begin), 0), file);
        begin = position;
      }
      return position;
    }

    @Override
    public void write(int value) throws IOException {
      write(new byte[] {(byte) value}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      crc.update(bytes, offset, length);
      held.write(bytes, offset, length);
      position += length;
      if (held.size() > MOST_BYTES_HELD) {
        held.release(held.size(), file);
      }
    }

    @Override
    public void flush() throws IOException {
      file.flush();
    }

    @Override
    public void close() throws IOException {
      if (isClosed) {
        return;
      }
      isClosed = true;
      try (PositionOutputStream closed = file) {
        byte[] end = held.toByteArray();
        byte[] signed = signed(end);
        closed.write(signed);
        position += signed.length - end.length;
      }
    }

    /** The end of the file, with a checksum if it is one of a whole file. */
    private byte[] signed(byte[] end) throws IOException {
      int footerEnd = end.length - BYTES_BEHIND_FOOTER;
      if (footerEnd <= 0
          || !Arrays.equals(end, end.length - MAGIC.length, end.length, MAGIC, 0, MAGIC.length)) {
        return end;
      }
      int bytes = ByteBuffer.wrap(end).order(ByteOrder.LITTLE_ENDIAN).getInt(footerEnd);
      int footerBegin = footerEnd - bytes;
      if (bytes <= 0 || footerBegin < 0) {
        return end;
      }
      byte[] footer = Arrays.copyOfRange(end, footerBegin, footerEnd);
      long footerAt = position - end.length + footerBegin;
      FileMetaData content = Util.readFileMetaData(new ByteArrayInputStream(footer));
      long indexes = beginOfIndexes(content, footerAt);
      int whole = crc(indexes, footerAt);
      byte[] added = more.bytes(content, footerAt, whole);
      if (added.length > 0) {
        footer = bytes(content);
        whole = CrcUtil.compose(whole, crc(added), added.length, CrcUtil.GZIP_POLYNOMIAL);
      }
      byte[] signed = new FooterChecksum(indexes, whole).in(footer);
      return ByteBuffer.allocate(footerBegin + added.length + signed.length + BYTES_BEHIND_FOOTER)
          .order(ByteOrder.LITTLE_ENDIAN)
          .put(end, 0, footerBegin)
          .put(added)
          .put(signed)
          .putInt(signed.length)
          .put(MAGIC)
          .array();
    }

    /** The checksum of the parts that lie between two places. */
    private int crc(long from, long to) throws IOException {
      int whole = 0;
      for (Part part : parts) {
        if (part.begin() >= from && part.begin() < to) {
          whole = CrcUtil.compose(whole, (int) part.crc(), part.bytes(), CrcUtil.GZIP_POLYNOMIAL);
        }
      }
      return whole;
    }

    private static int crc(byte[] bytes) {
      CRC32 crc = new CRC32();
      crc.update(bytes);
      return (int) crc.getValue();
    }

    private static byte[] bytes(FileMetaData footer) throws IOException {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      Util.writeFileMetaData(footer, bytes);
      return bytes.toByteArray();
    }

    private static long beginOfIndexes(FileMetaData footer, long footerAt) {
      return footer.getRow_groups().stream()
          .flatMap(group -> group.getColumns().stream())
          .flatMapToLong(
              column ->
                  LongStream.of(
                      column.isSetColumn_index_offset()
                          ? column.getColumn_index_offset()
                          : footerAt,
                      column.isSetOffset_index_offset()
                          ? column.getOffset_index_offset()
                          : footerAt))
          .min()
          .orElse(footerAt);
    }
  }
}
