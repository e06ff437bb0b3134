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
  public Stream newStream() {
    return new Stream(new CountingStream(file, counters));
  }

  @Override
  public String toString() {
    return file.location();
  }

  /** Bytes of a file, as they are read, or taken from elsewhere. */
  interface Bytes {
    byte[] get() throws IOException;
  }

  /** The file as a stream, parts of which come from memory. */
  static final class Stream extends DelegatingSeekableInputStream {
    private final CountingStream stream;

    private Stream(CountingStream stream) {
      super(stream);
      this.stream = stream;
    }

    @Override
    public long getPos() {
      return stream.position;
    }

    @Override
    public void seek(long position) {
      stream.position = position;
    }

    /** Bytes of the file, from the store. */
    byte[] bytes(long begin, int length) throws IOException {
      byte[] bytes = new byte[length];
      seek(begin);
      readFully(bytes);
      return bytes;
    }

    /** Gives a stretch of the file from memory, from now on; it is asked for when it is read. */
    void give(long begin, long end, Bytes bytes) {
      stream.begin = begin;
      stream.end = end;
      stream.given = bytes;
    }
  }

  private static final class CountingStream extends InputStream {
    private final org.apache.iceberg.io.InputFile file;
    private final ReadCounters counters;
    private @Nullable SeekableInputStream stream;
    private @Nullable Bytes given;
    private long begin;
    private long end;
    private long position;

    CountingStream(org.apache.iceberg.io.InputFile file, ReadCounters counters) {
      this.file = file;
      this.counters = counters;
    }

    private SeekableInputStream opened() throws IOException {
      SeekableInputStream open = stream;
      if (open == null) {
        open = file.newStream();
        stream = open;
      }
      if (open.getPos() != position) {
        open.seek(position);
      }
      return open;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      Bytes bytes = given;
      int read;
      if (bytes != null && begin <= position && position < end) {
        byte[] all = taken(bytes);
        read = (int) Math.min(length, end - position);
        System.arraycopy(all, (int) (position - begin), into, offset, read);
      } else {
        read = opened().read(into, offset, length);
        counters.bytesRead += Math.max(read, 0);
      }
      position += Math.max(read, 0);
      return read;
    }

    /** The given bytes. They may first be read from this stream, so its position is kept. */
    private byte[] taken(Bytes bytes) throws IOException {
      long from = position;
      given = null;
      try {
        return bytes.get();
      } finally {
        given = bytes;
        position = from;
      }
    }

    @Override
    public void close() throws IOException {
      if (stream != null) {
        stream.close();
      }
    }
  }
}
