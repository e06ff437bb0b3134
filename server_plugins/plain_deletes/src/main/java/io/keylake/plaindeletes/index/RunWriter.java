package io.keylake.plaindeletes.index;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes keys in their order, by head and then by tail, to a file on the local disk. */
final class RunWriter implements Closeable {
  static final int BUFFER_BYTES = 1 << 16;

  private final DataOutputStream out;

  RunWriter(Path file) throws IOException {
    out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file), BUFFER_BYTES));
  }

  void add(long head, int ordinal, byte[] tail, int offset, int length) throws IOException {
    out.writeLong(head);
    out.writeInt(ordinal);
    out.writeInt(length);
    out.write(tail, offset, length);
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
