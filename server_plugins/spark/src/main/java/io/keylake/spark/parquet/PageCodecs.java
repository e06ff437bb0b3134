package io.keylake.spark.parquet;

import com.github.luben.zstd.ZstdDecompressCtx;
import io.keylake.tables.FileDamage;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.parquet.bytes.BytesInput;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.compression.CompressionCodecFactory;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.util.HadoopCodecs;
import org.jspecify.annotations.Nullable;

/**
 * Codecs of pages. A page says how large it is when unpacked, so zstd unpacks it in one call, with
 * one context for a whole file; a stream of its own for every page, which is what Parquet has
 * otherwise, costs as much as decoding the values.
 */
final class PageCodecs implements CompressionCodecFactory {
  private static final ByteBufferAllocator HEAP = HeapByteBufferAllocator.getInstance();

  private final long mostPageBytes;
  private @Nullable CompressionCodecFactory others;
  private @Nullable Zstd zstd;

  /**
   * @param mostPageBytes what a page may say that it has: memory is not taken for a number that
   *     cannot be
   */
  PageCodecs(long mostPageBytes) {
    this.mostPageBytes = mostPageBytes;
  }

  /** Made when it is needed: it makes a configuration of Hadoop. */
  private CompressionCodecFactory others() {
    CompressionCodecFactory made = others;
    if (made == null) {
      made = HadoopCodecs.newFactory(0);
      others = made;
    }
    return made;
  }

  @Override
  public BytesInputCompressor getCompressor(CompressionCodecName name) {
    return others().getCompressor(name);
  }

  @Override
  public BytesInputDecompressor getDecompressor(CompressionCodecName name) {
    if (name != CompressionCodecName.ZSTD) {
      return others().getDecompressor(name);
    }
    if (zstd == null) {
      zstd = new Zstd(mostPageBytes);
    }
    return zstd;
  }

  @Override
  public void release() {
    if (others != null) {
      others.release();
    }
    if (zstd != null) {
      zstd.context.close();
      zstd = null;
    }
  }

  private static final class Zstd implements BytesInputDecompressor {
    private final ZstdDecompressCtx context = new ZstdDecompressCtx();
    private final long mostPageBytes;

    Zstd(long mostPageBytes) {
      this.mostPageBytes = mostPageBytes;
    }

    @Override
    public BytesInput decompress(BytesInput bytes, int size) throws IOException {
      if (size < 0 || size > mostPageBytes) {
        throw new FileDamage(
            "a page states %d bytes, its column has %d".formatted(size, mostPageBytes));
      }
      byte[] page = new byte[size];
      ByteBuffer packed = bytes.toByteBuffer(HEAP, buffer -> {});
      int written =
          packed.hasArray()
              ? context.decompressByteArray(
                  page,
                  0,
                  size,
                  packed.array(),
                  packed.arrayOffset() + packed.position(),
                  packed.remaining())
              : context.decompressByteArray(page, 0, size, copy(packed), 0, packed.remaining());
      check(written, size);
      return BytesInput.from(page);
    }

    private static byte[] copy(ByteBuffer packed) {
      byte[] bytes = new byte[packed.remaining()];
      packed.duplicate().get(bytes);
      return bytes;
    }

    @Override
    public void decompress(ByteBuffer input, int packedSize, ByteBuffer output, int size)
        throws IOException {
      byte[] packed = new byte[packedSize];
      input.get(packed);
      byte[] page = new byte[size];
      check(context.decompressByteArray(page, 0, size, packed, 0, packedSize), size);
      output.put(page);
    }

    private static void check(int written, int size) throws IOException {
      if (written != size) {
        throw new FileDamage("a page has " + written + " bytes instead of " + size);
      }
    }

    @Override
    public void release() {
      // Every column shares the context; the factory closes it.
    }
  }
}
