package io.keylake.spark.publish;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.StreamSupport;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.SupportsPrefixOperations;
import org.jspecify.annotations.Nullable;

/**
 * A folder in a store, where a file is there once it is whole, and the next one of its name takes
 * its place. It is opened as the files of the table are, with the same keys.
 */
record StoreFolder(SupportsPrefixOperations store, String location) implements Folder {
  @Override
  public List<String> names() {
    String folder = at("");
    return StreamSupport.stream(store.listPrefix(folder).spliterator(), false)
        .map(file -> file.location().substring(folder.length()).split("/", 2)[0])
        .distinct()
        .toList();
  }

  private String at(String name) {
    return location + "/" + name;
  }

  @Override
  public @Nullable String read(String name) throws IOException {
    try (InputStream in = store.newInputFile(at(name)).newStream()) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (NotFoundException e) {
      return null;
    }
  }

  @Override
  public void write(String name, String text) throws IOException {
    try (OutputStream out = store.newOutputFile(at(name)).createOrOverwrite()) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
  }

  @Override
  public long put(File local, String name) throws IOException {
    try (OutputStream out = store.newOutputFile(at(name)).createOrOverwrite()) {
      return Folder.copy(local, out);
    }
  }

  @Override
  public void delete(String name) {
    store.deletePrefix(at(name));
  }

  @Override
  public void deleteUnfinished() {
    // a file that was not finished is not there
  }

  @Override
  public void close() {
    // the FileIO is the table's
  }
}
