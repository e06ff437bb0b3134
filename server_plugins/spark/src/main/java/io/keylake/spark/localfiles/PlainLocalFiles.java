package io.keylake.spark.localfiles;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Files of this machine, without checksums. Without its native library, Hadoop starts a process
 * (chmod, ls, readlink) to set or to see the permissions of each file and to follow its link, which
 * takes longer than to write a small file; here Java does that.
 */
public final class PlainLocalFiles extends RawLocalFileSystem {

  /** Settings by which all local files are these. */
  public static Configuration in(Configuration hadoop) {
    Configuration settings = new Configuration(hadoop);
    settings.setClassLoader(PlainLocalFiles.class.getClassLoader());
    settings.setClass("fs.file.impl", PlainLocalFiles.class, FileSystem.class);
    settings.setBoolean("fs.file.impl.disable.cache", true); // others use Hadoop's own
    return settings;
  }

  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    Files.setPosixFilePermissions(pathToFile(path).toPath(), permissions(permission.toShort()));
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    File file = pathToFile(path);
    PosixFileAttributes found;
    try {
      found = Files.readAttributes(file.toPath(), PosixFileAttributes.class);
    } catch (NoSuchFileException e) {
      throw new FileNotFoundException("File " + path + " does not exist");
    }
    return new FileStatus(
        found.size(),
        found.isDirectory(),
        1,
        getDefaultBlockSize(path),
        found.lastModifiedTime().toMillis(),
        found.lastAccessTime().toMillis(),
        new FsPermission(bits(found.permissions())),
        found.owner().getName(),
        found.group().getName(),
        makeQualified(new Path(file.getPath())));
  }

  /** A link is what it leads to, as it is in Hadoop, whose process is asked for a URI. */
  @Override
  public FileStatus getFileLinkStatus(Path path) throws IOException {
    return getFileStatus(path);
  }

  /** The owner's right to read is the highest of nine bits, others' right to execute the lowest. */
  private static Set<PosixFilePermission> permissions(int bits) {
    Set<PosixFilePermission> all = EnumSet.noneOf(PosixFilePermission.class);
    for (PosixFilePermission each : PosixFilePermission.values()) {
      if ((bits & bit(each)) != 0) {
        all.add(each);
      }
    }
    return all;
  }

  private static short bits(Set<PosixFilePermission> permissions) {
    int bits = 0;
    for (PosixFilePermission each : permissions) {
      bits |= bit(each);
    }
    return (short) bits;
  }

  private static int bit(PosixFilePermission permission) {
    return 0x100 >> permission.ordinal();
  }
}
