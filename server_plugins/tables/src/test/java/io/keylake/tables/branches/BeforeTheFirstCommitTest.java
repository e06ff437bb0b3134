package io.keylake.tables.branches;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Append;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.repair.Undo;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Verbs that need a commit of main, while only another branch has one. */
class BeforeTheFirstCommitTest {
  private static MemoryTable onlyOnABranch() {
    MemoryTable table = MemoryTable.create("explicit");
    table.table.manageSnapshots().createBranch("dev").commit();
    table.make(
        new Append(
            "dev",
            List.of(table.file("1.1", table.stored("1 a @10"))),
            WriteSummaries.of("update")));
    table.table.refresh();
    return table;
  }

  @Test
  void mainCannotBePublished() {
    MemoryTable table = onlyOnABranch();
    KeylakeException e =
        assertThrows(KeylakeException.class, () -> Publication.of(table.table, "main"));
    assertEquals(KeylakeException.Kind.NOTHING_TO_DO, e.kind());
  }

  @Test
  void aCommitOfTheBranchCannotBeUndoneOnMain() {
    MemoryTable table = onlyOnABranch();
    long head = new CommitLog(table.table, "dev").headId();
    CommitRange range = CommitRange.of(table.table, CommitRange.BEGINNING, head);
    KeylakeException e =
        assertThrows(KeylakeException.class, () -> Undo.of(table.table, null, range));
    assertEquals(KeylakeException.Kind.NOT_FOUND, e.kind());
  }
}
