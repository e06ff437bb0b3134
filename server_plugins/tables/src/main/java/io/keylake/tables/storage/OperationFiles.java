package io.keylake.tables.storage;

import io.keylake.tables.FileNames;
import io.keylake.tables.GuestApi;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.io.FileInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The files that one operation has written, known by the UUID in their names. */
@GuestApi
public final class OperationFiles {
  private static final Logger LOG = LoggerFactory.getLogger(OperationFiles.class);

  private OperationFiles() {}

  /**
   * Deletes the files of an operation that was given up, as far as the store can be listed.
   *
   * @param operation a part of the names, with a UUID that no other operation has
   */
  public static void delete(Table table, String operation) {
    try {
      Optional<Folders> folders = Folders.in(table.io());
      if (folders.isPresent()) {
        List<String> locations =
            places(table)
                .flatMap(folders.get()::files)
                .map(FileInfo::location)
                .filter(location -> FileNames.of(location).contains(operation))
                .toList();
        locations.forEach(table.io()::deleteFile);
      }
    } catch (RuntimeException e) {
      LOG.warn(
          "files of {} stay, with {} in their names; they are part of no table",
          table,
          operation,
          e);
    }
  }

  private static Stream<String> places(Table table) {
    return Stream.concat(
        Stream.of(table.location() + "/" + Folders.DATA),
        Stream.of(
                TableProperties.WRITE_DATA_LOCATION,
                "write.object-storage.path",
                "write.folder-storage.path")
            .map(table.properties()::get)
            .flatMap(Stream::ofNullable));
  }
}
