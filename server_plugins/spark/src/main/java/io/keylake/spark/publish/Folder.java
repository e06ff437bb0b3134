package io.keylake.spark.publish;

import java.io.Closeable;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import org.jspecify.annotations.Nullable;

/** A folder that a table is published to, as one thread works in it; what has its name is whole. */
interface Folder extends Closeable {
  /** The names in the folder, without those of files that were never finished. */
  List<String> names() throws IOException;

  /** The text of a file, or null where there is none. */
  @Nullable String read(String name) throws IOException;

  void write(String name, String text) throws IOException;

  /** Copies a local file, and says the CRC-32 of its bytes. */
  long put(File local, String name) throws IOException;

  /** Deletes a file, or a folder and what is in it. */
  void delete(String name) throws IOException;

  /** Deletes what attempts that were killed have left. */
  void deleteUnfinished() throws IOException;

  /** Copies a local file, and says the CRC-32 of its bytes. */
  static long copy(File local, OutputStream into) throws IOException {
    CRC32 crc = new CRC32();
    try (InputStream in = new CheckedInputStream(new FileInputStream(local), crc)) {
      in.transferTo(into);
    }
    return crc.getValue();
  }
}
