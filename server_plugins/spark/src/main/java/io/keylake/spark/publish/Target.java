package io.keylake.spark.publish;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.localfiles.PlainLocalFiles;
import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.io.Serializable;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.SupportsPrefixOperations;
import org.apache.spark.util.SerializableConfiguration;

/**
 * The folder that a table is published to: on a file system that Hadoop knows, or in a store that
 * the table's own FileIO opens.
 */
record Target(String location, SerializableConfiguration hadoop) implements Serializable {
  private static final Set<String> FILE_SYSTEMS = Set.of("file", "hdfs", "viewfs");

  /** A place without a beginning would be one in the folder in which the server was started. */
  Target {
    if (!location.matches("/.+|[A-Za-z][A-Za-z0-9+.-]*:/.+")) {
      throw new KeylakeException(
          DEFINITION,
          "target '%s' is no whole path; give one such as '/data/clicks' or 's3://bucket/clicks'"
              .formatted(location));
    }
  }

  /**
   * @param io of the table
   */
  Folder open(FileIO io) throws IOException {
    Path path = new Path(location);
    String scheme = path.toUri().getScheme();
    boolean isOfHadoop =
        scheme == null || FILE_SYSTEMS.contains(scheme) || io instanceof HadoopFileIO;
    if (!isOfHadoop && io instanceof SupportsPrefixOperations store) {
      return new StoreFolder(store, location.replaceAll("/+$", ""));
    }
    try {
      return new HadoopFolder(FileSystem.newInstance(path.toUri(), settings()), path);
    } catch (UnsupportedFileSystemException e) {
      throw new KeylakeException(
          DEFINITION,
          "target '%s' is in a store that this server does not know; give the catalog the store's FileIO (io-impl), or publish to a disk"
              .formatted(location));
    }
  }

  /** The settings with which Hadoop opens files, those of this machine among them. */
  Configuration settings() {
    return PlainLocalFiles.in(hadoop.value());
  }
}
