package io.keylake.tables.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.history.TableLog;
import java.nio.file.Path;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers that give a table a log at the same moment. */
class TableLogTest {
  private static TableLog log(String id) {
    return TableLog.fromJson("{\"kind\": \"files\", \"id\": \"%s\"}".formatted(id));
  }

  @Test
  void ofTwoWhoHaveSeenNoneOneIsRefused(@TempDir Path folder) {
    TableOnDisk disk = new TableOnDisk(folder.resolve("t"), new DiskFiles());
    Table first = disk.opened().table;
    Table second = disk.opened().table;
    log("a").begin(first);
    KeylakeException refused = assertThrows(KeylakeException.class, () -> log("b").begin(second));
    assertEquals(Kind.DEFINITION, refused.kind());
    assertEquals("a", TableLog.of(disk.opened().table).orElseThrow().id());
    TableLog.end(first);
    log("b").begin(second);
    assertEquals("b", TableLog.of(disk.opened().table).orElseThrow().id());
  }
}
