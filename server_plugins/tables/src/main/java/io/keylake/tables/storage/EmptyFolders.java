package io.keylake.tables.storage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** The folders that deleted files leave on a local disk; other stores have none, or keep them. */
public final class EmptyFolders {
  private EmptyFolders() {}

  /** Deletes a folder and those below as far as there is no file in them. */
  public static void delete(String location) {
    Path folder = Path.of("/" + String.join("/", Place.written(location).parts()));
    try {
      for (Path each : deepestFirst(folder)) {
        deleteIfEmpty(each);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<Path> deepestFirst(Path folder) throws IOException {
    try (Stream<Path> below = Files.walk(folder)) {
      return below.filter(Files::isDirectory).sorted(Comparator.reverseOrder()).toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  private static void deleteIfEmpty(Path folder) throws IOException {
    try {
      Files.deleteIfExists(folder);
    } catch (DirectoryNotEmptyException e) {
      // somebody's files stay, and so does their folder
    }
  }
}
