package io.keylake.tables.storage;

import io.keylake.tables.FileNames;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.apache.iceberg.io.InputFile;

/**
 * The UUID of the table that a metadata file describes. A folder may have thousands of them, each
 * with every snapshot in it, and they say it at their beginning: no more is read.
 */
final class TableUuid {
  private static final int BEGINNING_BYTES = 8192;
  private static final Pattern MEMBER =
      Pattern.compile("\"table-uuid\"\\s*:\\s*\"([0-9a-fA-F-]{36})\"");

  private TableUuid() {}

  /** A metadata file is, as far as it can be told, not of the table with that UUID. */
  static boolean isAnother(InputFile file, UUID own) {
    String beginning = beginning(file);
    Matcher said = MEMBER.matcher(beginning);
    return said.find() ? !UUID.fromString(said.group(1)).equals(own) : !isCutShort(beginning);
  }

  /**
   * Says whether a file was cut short: what a writer that was killed has left describes no table.
   */
  private static boolean isCutShort(String beginning) {
    return beginning.length() < BEGINNING_BYTES && !beginning.strip().endsWith("}");
  }

  private static String beginning(InputFile file) {
    try (InputStream stored = file.newStream();
        InputStream in = isZipped(file) ? new GZIPInputStream(stored) : stored) {
      return new String(in.readNBytes(BEGINNING_BYTES), StandardCharsets.UTF_8);
    } catch (EOFException e) {
      return ""; // of a zipped file that was cut short
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + file.location(), e);
    }
  }

  private static boolean isZipped(InputFile file) {
    return FileNames.of(file.location()).contains(".gz");
  }
}
