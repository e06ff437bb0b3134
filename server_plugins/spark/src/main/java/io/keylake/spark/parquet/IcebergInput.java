package io.keylake.spark.parquet;

import java.io.FilterInputStream;
import java.io.IOException;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;

/** A file of any Iceberg FileIO, as Parquet wants to read it. Counts the bytes that are read. */
record IcebergInput(org.apache.iceberg.io.InputFile file, long length, ReadCounters counters)
    implements InputFile {
  @Override
  public long getLength() {
    return length;
  }

  @Override
  public org.apache.parquet.io.SeekableInputStream newStream() throws IOException {
    CountingStream stream = new CountingStream(file.newStream(), counters);
    return new DelegatingSeekableInputStream(stream) {
      @Override
      public long getPos() throws IOException {
        return stream.position();
      }

      @Override
      public void seek(long position) throws IOException {
        stream.seek(position);
      }
    };
  }

  @Override
  public String toString() {
    return file.location();
  }

  private static final class CountingStream extends FilterInputStream {
    private final SeekableInputStream stream;
    private final ReadCounters counters;

    CountingStream(SeekableInputStream stream, ReadCounters counters) {
      super(stream);
      this.stream = stream;
      this.counters = counters;
    }

    long position() throws IOException {
      return stream.getPos();
    }

    void seek(long position) throws IOException {
      stream.seek(position);
    }

    @Override
    public int read() throws IOException {
      int value = stream.read();
      counters.bytesRead += value < 0 ? 0 : 1;
      return value;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      int read = stream.read(into, offset, length);
      counters.bytesRead += Math.max(read, 0);
      return read;
    }
  }
}
