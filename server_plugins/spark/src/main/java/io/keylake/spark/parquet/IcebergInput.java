package io.keylake.spark.parquet;

import java.io.IOException;
import java.io.InputStream;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;
import org.jspecify.annotations.Nullable;

/**
 * A file of any Iceberg FileIO, as Parquet wants to read it. It is opened when the first byte is
 * read: of a file whose footer is known, nothing else may be needed. Counts the bytes that are
 * read.
 */
record IcebergInput(org.apache.iceberg.io.InputFile file, long length, ReadCounters counters)
    implements InputFile {
  @Override
  public long getLength() {
    return length;
  }

  @Override
  public org.apache.parquet.io.SeekableInputStream newStream() {
    CountingStream stream = new CountingStream(file, counters);
    return new DelegatingSeekableInputStream(stream) {
      @Override
      public long getPos() throws IOException {
        return stream.opened().getPos();
      }

      @Override
      public void seek(long position) throws IOException {
        stream.opened().seek(position);
      }
    };
  }

  @Override
  public String toString() {
    return file.location();
  }

  private static final class CountingStream extends InputStream {
    private final org.apache.iceberg.io.InputFile file;
    private final ReadCounters counters;
    private @Nullable SeekableInputStream stream;

    CountingStream(org.apache.iceberg.io.InputFile file, ReadCounters counters) {
      this.file = file;
      this.counters = counters;
    }

    SeekableInputStream opened() {
      SeekableInputStream open = stream;
      if (open == null) {
        open = file.newStream();
        stream = open;
      }
      return open;
    }

    @Override
    public int read() throws IOException {
      int value = opened().read();
      counters.bytesRead += value < 0 ? 0 : 1;
      return value;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      int read = opened().read(into, offset, length);
      counters.bytesRead += Math.max(read, 0);
      return read;
    }

    @Override
    public void close() throws IOException {
      if (stream != null) {
        stream.close();
      }
    }
  }
}
