package io.keylake.spark.read;

import java.io.IOException;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;

/** A file of any Iceberg FileIO, as Parquet wants to read it. */
record IcebergInput(org.apache.iceberg.io.InputFile file, long length) implements InputFile {
  @Override
  public long getLength() {
    return length;
  }

  @Override
  public org.apache.parquet.io.SeekableInputStream newStream() throws IOException {
    SeekableInputStream stream = file.newStream();
    return new DelegatingSeekableInputStream(stream) {
      @Override
      public long getPos() throws IOException {
        return stream.getPos();
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
}
