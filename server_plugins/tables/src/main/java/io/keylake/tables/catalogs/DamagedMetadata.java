package io.keylake.tables.catalogs;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.GZIPInputStream;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableMetadataParser.Codec;
import org.apache.iceberg.inmemory.InMemoryInputFile;

/** Checks of a file of metadata. */
final class DamagedMetadata {
  private DamagedMetadata() {}

  /**
   * Compares a compressed file with its checksum, which Iceberg's parser does not come to: it stops
   * at the last brace.
   *
   * @param isSuspect whether the file could not be parsed before, and is parsed here to say why
   */
  static void check(String location, byte[] content, boolean isSuspect) {
    try {
      if (Codec.fromFileName(location) == Codec.GZIP) {
        try (InputStream whole = new GZIPInputStream(new ByteArrayInputStream(content))) {
          whole.transferTo(OutputStream.nullOutputStream());
        }
      }
      if (isSuspect) {
        TableMetadataParser.read(new InMemoryInputFile(location, content));
      }
    } catch (IOException | RuntimeException e) {
      throw new KeylakeException(
          Kind.STORE_FAILED,
          "metadata %s is damaged (%s); nothing was changed; put the file back from a backup, or see repair_plan"
              .formatted(location, firstLine(e)),
          e);
    }
  }

  private static String firstLine(Exception failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String said = root instanceof EOFException ? "it ends too early" : root.getMessage();
    return String.valueOf(said).lines().findFirst().orElse("");
  }
}
