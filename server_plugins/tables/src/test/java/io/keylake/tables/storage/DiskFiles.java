package io.keylake.tables.storage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.SupportsPrefixOperations;

/** A local disk as the store of tables. */
class DiskFiles implements SupportsPrefixOperations {
  @Override
  public InputFile newInputFile(String path) {
    return org.apache.iceberg.Files.localInput(path);
  }

  @Override
  public OutputFile newOutputFile(String path) {
    return org.apache.iceberg.Files.localOutput(path);
  }

  @Override
  public void deleteFile(String path) {
    try {
      Files.delete(Path.of(path));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public List<FileInfo> listPrefix(String prefix) {
    Path folder = Path.of(prefix.endsWith("/") ? prefix : prefix.replaceAll("[^/]*$", ""));
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> below = Files.walk(folder)) {
      return below
          .filter(Files::isRegularFile)
          .filter(path -> path.toString().startsWith(prefix))
          .map(DiskFiles::info)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static FileInfo info(Path path) {
    try {
      return new FileInfo(
          path.toString(), Files.size(path), Files.getLastModifiedTime(path).toMillis());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void deletePrefix(String prefix) {
    listPrefix(prefix).forEach(file -> deleteFile(file.location()));
  }
}
