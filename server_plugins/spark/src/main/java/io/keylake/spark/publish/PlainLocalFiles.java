package io.keylake.spark.publish;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Files of this machine without what Hadoop does besides: a file with a checksum for each, and a
 * process for each that sets its permissions, which takes longer than to write a group.
 */
public final class PlainLocalFiles extends RawLocalFileSystem {
  /** Settings by which all local files are these. */
  static Configuration in(Configuration hadoop) {
    Configuration settings = new Configuration(hadoop);
    settings.setClassLoader(PlainLocalFiles.class.getClassLoader());
    settings.setClass("fs.file.impl", PlainLocalFiles.class, FileSystem.class);
    settings.setBoolean("fs.file.impl.disable.cache", true); // others use Hadoop's own
    return settings;
  }

  /** Files have the permissions that the process gives to new ones. */
  @Override
  public void setPermission(Path path, FsPermission permission) {}
}
