package io.keylake.spark.publish;

import io.keylake.spark.localfiles.PlainLocalFiles;
import java.io.Closeable;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.util.SerializableConfiguration;
import org.jspecify.annotations.Nullable;

/** The folder that a table is published to, on any file system that Hadoop knows. */
record Target(String location, SerializableConfiguration hadoop) implements Serializable {
  /** Of files that are not whole yet. */
  private static final String UNFINISHED = "_writing-";

  Folder open() throws IOException {
    Path path = new Path(location);
    Configuration settings = PlainLocalFiles.in(hadoop.value());
    return new Folder(FileSystem.newInstance(path.toUri(), settings), path);
  }

  /** The folder, as one thread works in it; what has its name there is whole. */
  record Folder(FileSystem files, Path path) implements Closeable {

    /** What is there, but for files that were never finished. */
    List<String> names() throws IOException {
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

    /** The text of a file, or null where there is none. */
    @Nullable String read(String name) throws IOException {
      try (InputStream in = files.open(at(name))) {
        return new String(in.readAllBytes(), StandardCharsets.UTF_8);
      } catch (FileNotFoundException e) {
        return null;
      }
    }

    void write(String name, String text) throws IOException {
      Path unfinished = unfinished();
      try (OutputStream out = files.create(unfinished)) {
        out.write(text.getBytes(StandardCharsets.UTF_8));
      }
      finish(unfinished, name);
    }

    /** Copies a local file, and says the CRC-32 of its bytes. */
    long put(File local, String name) throws IOException {
      Path unfinished = unfinished();
      CRC32 crc = new CRC32();
      try (InputStream in = new CheckedInputStream(new FileInputStream(local), crc);
          OutputStream out = files.create(unfinished)) {
        in.transferTo(out);
      }
      finish(unfinished, name);
      return crc.getValue();
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

    void delete(String name) throws IOException {
      files.delete(at(name), true);
    }

    /** Deletes what attempts that were killed have left. */
    void deleteUnfinished() throws IOException {
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
}
