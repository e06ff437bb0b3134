package io.keylake.spark.localfiles;

import org.apache.hadoop.fs.LocalFileSystem;

/** Files of this machine with a checksum for each. Named in {@code fs.file.impl}. */
public final class LocalFiles extends LocalFileSystem {
  public LocalFiles() {
    super(new PlainLocalFiles());
  }
}
