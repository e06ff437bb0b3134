package io.keylake.tables.storage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.OutputFile;

/**
 * The time of the store that a table lies in: the ages of files are told by its clock, which may
 * differ from that of this machine. It is read from a file that is written for this, and deleted.
 */
final class StoreClock {
  private static final String PREFIX = "_keylake_clock-";

  private StoreClock() {}

  /**
   * The earlier one of the store's time and this machine's: while the clock of either is right,
   * nothing counts as older than it is.
   */
  static Instant notAhead(Table table, Instant here) {
    Instant there = now(table);
    return there.isBefore(here) ? there : here;
  }

  private static Instant now(Table table) {
    OutputFile file =
        table
            .io()
            .newOutputFile(
                Place.written(table.location()).location() + "/" + PREFIX + UUID.randomUUID());
    try {
      file.createOrOverwrite().close();
      return written(table, file.location());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write to " + table.location(), e);
    } finally {
      table.io().deleteFile(file.location());
    }
  }

  /** The beginning of time where the store does not list what was just written: nothing is old. */
  private static Instant written(Table table, String location) {
    return Folders.in(table.io())
        .map(
            folders -> {
              try (Stream<FileInfo> files = folders.startingWith(location)) {
                return files
                    .map(found -> Instant.ofEpochMilli(found.createdAtMillis()))
                    .findFirst()
                    .orElse(Instant.EPOCH);
              }
            })
        .orElse(Instant.EPOCH);
  }

  /** A file was written to tell the time; one is left over where a cleaning was killed. */
  static boolean isOurs(String name) {
    return name.startsWith(PREFIX);
  }
}
