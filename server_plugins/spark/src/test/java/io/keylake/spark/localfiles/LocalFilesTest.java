package io.keylake.spark.localfiles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.permission.FsPermission;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalFilesTest {
  private static final FsPermission PERMISSION = new FsPermission((short) 0640);

  @TempDir Path folder;

  private static Configuration settings(boolean ours) {
    Configuration settings = new Configuration(false);
    settings.setBoolean("fs.file.impl.disable.cache", true);
    settings.setClass(
        "fs.file.impl", ours ? LocalFiles.class : LocalFileSystem.class, FileSystem.class);
    if (ours) {
      settings.set("fs.AbstractFileSystem.file.impl", LocalFilesContext.class.getName());
    }
    return settings;
  }

  private org.apache.hadoop.fs.Path path(String name) {
    return new org.apache.hadoop.fs.Path(folder.toUri().toString() + name);
  }

  /** What others learn of files, whichever file system has written them. */
  @Test
  void filesAreAsHadoopHasThem() throws IOException {
    try (FileSystem ours = FileSystem.get(folder.toUri(), settings(true));
        FileSystem hadoops = FileSystem.get(folder.toUri(), settings(false))) {
      for (FileSystem writer : new FileSystem[] {ours, hadoops}) {
        String name = writer == ours ? "ours" : "hadoops";
        assertTrue(writer.mkdirs(path(name)));
        try (FSDataOutputStream out = writer.create(path(name + "/a b"), true)) {
          out.writeUTF("some text");
        }
        writer.setPermission(path(name + "/a b"), PERMISSION);
        FileStatus[] seen = ours.listStatus(path(name));
        FileStatus[] expected = hadoops.listStatus(path(name));
        assertEquals(1, seen.length, "checksums are not listed");
        same(expected[0], seen[0]);
        same(hadoops.getFileStatus(path(name)), ours.getFileStatus(path(name)));
        assertEquals(PERMISSION, seen[0].getPermission());
        assertEquals(
            "some text", ours.open(path(name + "/a b")).readUTF(), "with its checksum checked");
      }
      assertTrue(Files.exists(folder.resolve("ours/.a b.crc")));
      assertThrows(FileNotFoundException.class, () -> ours.getFileStatus(path("missing")));
      assertThrows(FileNotFoundException.class, () -> ours.listStatus(path("missing")));
    }
  }

  private static void same(FileStatus expected, FileStatus seen) {
    assertEquals(expected.getPath(), seen.getPath());
    assertEquals(expected.getLen(), seen.getLen());
    assertEquals(expected.isDirectory(), seen.isDirectory());
    assertEquals(expected.getPermission(), seen.getPermission());
    assertEquals(expected.getOwner(), seen.getOwner());
    assertEquals(expected.getGroup(), seen.getGroup());
    assertEquals(expected.getModificationTime(), seen.getModificationTime());
    assertEquals(expected.getBlockSize(), seen.getBlockSize());
  }

  /** Checkpoints of streams are written beside their place and renamed. */
  @Test
  void checkpointsAreRenamedWithoutReplacingAnything() throws IOException {
    FileContext files = FileContext.getFileContext(folder.toUri(), settings(true));
    for (String name : new String[] {".0.tmp", ".1.tmp"}) {
      files.create(path(name), EnumSet.of(CreateFlag.CREATE)).close();
    }
    files.rename(path(".0.tmp"), path("0"), Options.Rename.NONE);
    assertThrows(
        IOException.class, () -> files.rename(path(".1.tmp"), path("0"), Options.Rename.NONE));
    files.rename(path(".1.tmp"), path("0"), Options.Rename.OVERWRITE);
    assertEquals(1, files.util().listStatus(path("")).length);
    assertEquals(
        "rw-r--r--",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve("0"))));
  }

  @Test
  void aLinkIsWhatItLeadsTo() throws IOException {
    Files.writeString(folder.resolve("file"), "x");
    Files.createSymbolicLink(folder.resolve("link"), folder.resolve("file"));
    try (PlainLocalFiles files = new PlainLocalFiles()) {
      files.initialize(folder.toUri(), settings(true));
      assertEquals(1, files.getFileLinkStatus(path("link")).getLen());
      assertEquals(1, files.getFileStatus(path("link")).getLen());
      assertEquals(1, files.getFileLinkStatus(path("file")).getLen());
    }
  }
}
