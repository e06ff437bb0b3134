package io.keylake.tables.storage;

import io.keylake.tables.FileNames;
import java.io.FileNotFoundException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.SupportsPrefixOperations;

/** The folders of a store, as far as they tell where tables lie. */
final class Folders {
  static final String METADATA = "metadata";
  static final String DATA = "data";

  private final SupportsPrefixOperations io;

  private Folders(SupportsPrefixOperations io) {
    this.io = io;
  }

  /** The folders of a store; empty where it cannot be listed. */
  static Optional<Folders> in(FileIO io) {
    return io instanceof SupportsPrefixOperations listed
        ? Optional.of(new Folders(listed))
        : Optional.empty();
  }

  /** The files in a folder and below; none where there is no such folder. */
  Stream<FileInfo> files(String folder) {
    return startingWith(folder + "/"); // in a store without folders not those of `folder2`, too
  }

  Stream<FileInfo> startingWith(String prefix) {
    try {
      return StreamSupport.stream(io.listPrefix(prefix).spliterator(), false);
    } catch (UncheckedIOException e) {
      if (e.getCause() instanceof FileNotFoundException) {
        return Stream.empty();
      }
      throw e;
    } catch (NotFoundException e) {
      return Stream.empty();
    }
  }

  /** A table has its metadata in the folder {@value #METADATA} of this one. */
  boolean hasTable(Place folder) {
    Place metadata = folder.child(METADATA);
    try (Stream<FileInfo> files = files(metadata.location())) {
      return files
          .flatMap(file -> describedBy(Place.written(file.location())).stream())
          .anyMatch(folder::isSame);
    }
  }

  /** The folder of the table that a file describes; empty for any other file. */
  static Optional<Place> describedBy(Place file) {
    return isOfTable(file) ? Optional.of(file.parent().parent()) : Optional.empty();
  }

  private static boolean isOfTable(Place file) {
    List<String> parts = file.parts();
    return parts.size() > 1
        && FileNames.isAnyTableMetadata(file.name())
        && parts.get(parts.size() - 2).equals(METADATA);
  }

  /** A folder above, at any height, that a table has as its location. */
  Optional<Place> tableAbove(String location) {
    return Stream.of(Place.written(location), Place.of(location))
        .distinct()
        .flatMap(folder -> Stream.iterate(folder, place -> !place.isRoot(), Place::parent).skip(1))
        .filter(this::hasTable)
        .findFirst();
  }
}
