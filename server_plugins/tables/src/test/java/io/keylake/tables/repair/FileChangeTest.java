package io.keylake.tables.repair;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.planning.Extent;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.planning.MemoryTable;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.junit.jupiter.api.Test;

/** Files that are dropped, moved and restored while others commit. No file is opened here. */
class FileChangeTest {
  private static MemoryTable threeRuns() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,2,3,4 a @10");
    table.commit("2,3 a b @20", "7 a b @20");
    table.commit("9 a @30");
    return table;
  }

  private static List<String> files(MemoryTable table, String branch) {
    table.table.refresh();
    Long head = new CommitLog(table.table, branch).headId();
    return FileListing.ofAll(table.table).at(head).stream()
        .map(task -> task.file().location())
        .sorted()
        .toList();
  }

  @Test
  void aPlanTellsWhatTheFilesHold() {
    MemoryTable table = threeRuns();
    FileChange planned = FileChange.drop(table.table, null, Set.of("2.1", "2.2", "nowhere"));
    Extent extent = planned.extent();
    assertEquals(List.of(2L, 3L, 1L), List.of(extent.files(), extent.rows(), planned.buckets()));
    assertEquals(List.of("a", "b"), extent.columns());
    assertEquals(List.of(2L), extent.lower());
    assertEquals(List.of(7L), extent.upper());
    assertTrue(FileChange.drop(table.table, null, Set.of("nowhere")).isEmpty());
    assertEquals(List.of("1.1", "2.1", "2.2", "3.1"), files(table, null));
  }

  @Test
  void aChangeIsLostToACommitThatCameMeanwhile() {
    MemoryTable table = threeRuns();
    FileChange planned = FileChange.drop(table.table, null, Set.of("2.1"));
    table.commit("5 a @40");
    assertFalse(planned.commit());
    assertEquals(List.of("1.1", "2.1", "2.2", "3.1", "4.1"), files(table, null));
    assertTrue(FileChange.drop(table.table, null, Set.of("2.1")).commit());
    assertEquals(List.of("1.1", "2.2", "3.1", "4.1"), files(table, null));
  }

  @Test
  void aMoveIsMadeOnBothBranchesOrOnNone() {
    MemoryTable table = threeRuns();
    long first = table.table.snapshot(table.table.currentSnapshot().parentId()).parentId();
    table.table.manageSnapshots().createBranch("other", first).commit();
    FileChange planned = FileChange.move(table.table, null, Set.of("1.1", "3.1"), "other");
    DataFile meanwhile = table.file("meanwhile", table.stored("5 a @40"));
    new Commits(table.table)
        .make(new Append("other", List.of(meanwhile), WriteSummaries.of("update")));
    assertFalse(planned.commit());
    assertEquals(List.of("1.1", "2.1", "2.2", "3.1"), files(table, null));
    assertTrue(FileChange.move(table.table, null, Set.of("1.1", "3.1"), "other").commit());
    assertEquals(List.of("2.1", "2.2"), files(table, null));
    assertEquals(List.of("1.1", "3.1", "meanwhile"), files(table, "other"), "each once");
  }

  @Test
  void whatIsThereIsNotRestored() {
    MemoryTable table = threeRuns();
    long whole = table.head();
    assertTrue(FileChange.restore(table.table, null, Set.of("1.1"), whole).isEmpty());
    assertTrue(FileChange.drop(table.table, null, Set.of("1.1", "2.1")).commit());
    assertTrue(FileChange.restore(table.table, null, Set.of("1.1", "2.2"), whole).commit());
    assertEquals(List.of("1.1", "2.2", "3.1"), files(table, null));
    assertThrows(
        KeylakeException.class, () -> FileChange.restore(table.table, null, Set.of("1.1"), 17));
  }
}
