package io.keylake.tables.repair;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Rollback;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.storage.Housekeeping;
import java.time.Instant;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A table whose newest commit names a manifest list that is gone. */
class MissingManifestsTest {
  private final MemoryTable memory = MemoryTable.create("explicit");
  private long good;

  @BeforeEach
  void loseTheNewestList() {
    memory.commit("1 a @10");
    good = memory.head();
    memory.commit("2 a @20");
    ((InMemoryFileIO) memory.table.io())
        .deleteFile(memory.table.currentSnapshot().manifestListLocation());
    memory.table.refresh();
  }

  @Test
  void itsHistoryIsThere() {
    assertEquals(2, new CommitLog(memory.table, null).entries(entry -> true, 10).size());
  }

  @Test
  void itIsRolledBack() {
    new Commits(memory.table).make(new Rollback(null, good));
    memory.table.refresh();
    assertEquals(good, memory.head());
    memory.commit("3 a @30");
    assertEquals(2, new CommitLog(memory.table, null).entries(entry -> true, 10).size());
  }

  @Test
  void aWriteSaysWhatIsMissing() {
    KeylakeException gone = assertThrows(KeylakeException.class, () -> memory.commit("3 a @30"));
    assertTrue(gone.getMessage().contains("snap-"), gone.getMessage());
    assertTrue(gone.getMessage().contains("rollback"), gone.getMessage());
  }

  @Test
  void itIsCleaned() {
    Housekeeping.Done done = Housekeeping.run(memory.table, RetentionPolicy.DEFAULT, Instant.now());
    assertTrue(
        String.valueOf(done.orphansLeft()).contains("roll back to a commit before it"),
        done.toString());
  }

  @Test
  void itIsCleanedAfterARollback() {
    new Commits(memory.table).make(new Rollback(null, good));
    memory.table.refresh();
    RetentionPolicy policy = new RetentionPolicy(1.0, 1, null, 0, 0.0, 0, 0);
    assertEquals(1, Housekeeping.run(memory.table, policy, Instant.now()).snapshots());
    assertEquals(good, memory.head());
    memory.commit("3 a @30");
  }
}
