package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.api.Test;

/** Of two writes that overlap, the one that commits later has no lower version. */
class CommitVersionTest {
  private final MemoryTable table = MemoryTable.create("commit");

  private static WriteSummary at(long version) {
    return new WriteSummary("update", 1, version, version, List.of("a"), WriteLabels.NONE);
  }

  private Append written(String name, long version) {
    DataFile file = table.file(name, table.stored("1 a @" + version));
    return new Append(null, List.of(file), at(version));
  }

  private Long onlyVersion(String location) {
    table.table.refresh();
    for (FileScanTask task : FileListing.ofAll(table.table).at(table.head())) {
      if (task.file().location().equals(location)) {
        return FileFacts.onlyVersion(task.file(), table.schema);
      }
    }
    throw new IllegalStateException(location);
  }

  private List<Long> versions() {
    return new CommitLog(table.table, null)
        .entries(entry -> true, 9).stream().map(CommitLog.Entry::maxVersion).toList();
  }

  @Test
  void theLaterCommitIsNotBelow() {
    Append slow = written("slow", 10);
    table.make(written("quick", 20));
    table.make(slow);
    assertEquals(20, onlyVersion("quick"));
    assertTrue(onlyVersion("slow") >= 20);
    assertEquals(List.of(onlyVersion("slow"), 20L), versions());
    table.make(written("next", 30));
    assertTrue(onlyVersion("next") >= onlyVersion("slow"));
  }

  @Test
  void anOverwriteIsNotBelow() {
    table.make(written("quick", 20));
    DataFile file = table.file("whole", table.stored("1 a @10"));
    table.make(new Overwrite(null, Expressions.alwaysTrue(), List.of(file), at(10)));
    assertTrue(onlyVersion("whole") >= 20);
  }

  @Test
  void versionsThatWritersSayAreNotTouched() {
    MemoryTable explicit = MemoryTable.create("explicit");
    for (long version : List.of(20L, 10L)) {
      DataFile file = explicit.file("at" + version, explicit.stored("1 a @" + version));
      explicit.make(new Append(null, List.of(file), at(version)));
    }
    explicit.table.refresh();
    List<Long> found =
        FileListing.ofAll(explicit.table).at(explicit.head()).stream()
            .map(task -> FileFacts.onlyVersion(task.file(), explicit.schema))
            .sorted()
            .toList();
    assertEquals(List.of(10L, 20L), found);
  }
}
