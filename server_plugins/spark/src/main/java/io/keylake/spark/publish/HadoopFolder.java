package io.keylake.spark.publish;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.jspecify.annotations.Nullable;

/** A folder on a file system of Hadoop: files are written beside, and then get their names. */
record HadoopFolder(FileSystem files, Path path) implements Folder {
  /** The beginning of the names of files that are not whole yet. */
  private static final String UNFINISHED = "_writing-";

  @Override
  public List<String> names() throws IOException {
    List<String> names = new ArrayList<>();
    for (FileStatus each : list("")) {
      if (!each.getPath().getName().startsWith(UNFINISHED)) {
        names.add(each.getPath().getName());
      }
    }
    return names;
  }

  private FileStatus[] list(String name) throws IOException {
    try {
      return files.listStatus(at(name));
    } catch (FileNotFoundException e) {
      return new FileStatus[0];
    }
  }

  private Path at(String name) {
    return name.isEmpty() ? path : new Path(path, name);
  }

  @Override
  public @Nullable String read(String name) throws IOException {
    try (InputStream in = files.open(at(name))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (FileNotFoundException e) {
      return null;
    }
  }

  @Override
  public void write(String name, String text) throws IOException {
    Path unfinished = unfinished();
    try (OutputStream out = files.create(unfinished)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    finish(unfinished, name);
  }

  @Override
  public long put(File local, String name) throws IOException {
    Path unfinished = unfinished();
    long crc;
    try (OutputStream out = files.create(unfinished)) {
      crc = Folder.copy(local, out);
    }
    finish(unfinished, name);
    return crc;
  }

  private Path unfinished() {
    return at(UNFINISHED + UUID.randomUUID());
  }

  private void finish(Path unfinished, String name) throws IOException {
    Path finished = at(name);
    files.delete(finished, false); // of an attempt before this one
    files.mkdirs(finished.getParent());
    if (!files.rename(unfinished, finished)) {
      throw new IOException("cannot rename %s to %s".formatted(unfinished, finished));
    }
  }

  @Override
  public void delete(String name) throws IOException {
    files.delete(at(name), true);
  }

  @Override
  public void deleteUnfinished() throws IOException {
    for (FileStatus each : list("")) {
      if (each.getPath().getName().startsWith(UNFINISHED)) {
        files.delete(each.getPath(), false);
      }
    }
  }

  @Override
  public void close() throws IOException {
    files.close();
  }
}
