package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTables;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of a commit, and of its files, when a catalog fails. */
class CommitFailuresTest {
  private InMemoryCatalog catalog;
  private Table table;

  @BeforeEach
  void createTable() {
    catalog = MemoryTables.partitioned();
    table = catalog.loadTable(MemoryTables.NAME);
    table.updateProperties().set("commit.status-check.min-wait-ms", "1").commit();
  }

  private DataFile file(String name) {
    return MemoryTables.dayFile(table, name);
  }

  private List<String> files(Table of) {
    of.refresh();
    return StreamSupport.stream(of.newScan().planFiles().spliterator(), false)
        .map((FileScanTask task) -> task.file().location())
        .sorted()
        .toList();
  }

  private static boolean isAppended(Table table, DataFile file) {
    Append append = new Append(null, List.of(file), WriteSummaries.of("update"));
    return new Commits(table).make(append).isCommitted();
  }

  @Test
  void aCommitThatLosesTooOften() {
    table.updateProperties().set("commit.retry.num-retries", "1").commit();
    table.updateProperties().set("commit.retry.min-wait-ms", "1").commit();
    TableOperations operations = ((BaseTable) table).operations();
    Table contended =
        new BaseTable(
            SteeredOperations.failing(
                operations, false, new CommitFailedException("somebody else was quicker")),
            "shop.orders");
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> isAppended(contended, file("1")));
    assertEquals(KeylakeException.Kind.COMMIT_CONFLICT, refused.kind());
    assertTrue(refused.getMessage().contains("somebody else was quicker"), refused.getMessage());
    assertEquals(List.of(), files(table));
  }

  private Table failing(boolean isTaken, RuntimeException failure) {
    TableOperations operations = ((BaseTable) table).operations();
    return new BaseTable(SteeredOperations.failing(operations, isTaken, failure), "shop.orders");
  }

  private InMemoryFileIO store() {
    return (InMemoryFileIO) table.io();
  }

  @Test
  void aCommitThatStandsIsNoFailureWhateverTheCatalogSays() {
    store().addFile("1", new byte[] {1});
    Table failing = failing(true, new IllegalStateException("the connection was reset"));
    assertTrue(isAppended(failing, file("1")));
    assertEquals(List.of("1"), files(table));
    assertTrue(store().fileExists("1"));
  }

  @Test
  void filesAreKeptWhereNobodyKnowsWhetherThereIsACommit() {
    store().addFile("1", new byte[] {1});
    Table failing = failing(false, new IllegalStateException("the connection was reset"));
    KeylakeException unknown =
        assertThrows(KeylakeException.class, () -> isAppended(failing, file("1")));
    assertEquals(KeylakeException.Kind.OUTCOME_UNKNOWN, unknown.kind());
    assertTrue(unknown.getMessage().contains("was changed is not known"), unknown.getMessage());
    assertTrue(store().fileExists("1"), "the commit may still arrive");
  }

  @Test
  void filesAreDeletedWhereThereIsCertainlyNoCommit() {
    store().addFile("1", new byte[] {1});
    table.updateProperties().set("commit.retry.num-retries", "0").commit();
    Table failing = failing(false, new CommitFailedException("somebody else was quicker"));
    assertThrows(KeylakeException.class, () -> isAppended(failing, file("1")));
    assertFalse(store().fileExists("1"));
  }

  @Test
  void whatFailsAfterTheCommitDoesNotMakeItLookFailed() {
    Append append = new Append(null, List.of(file("1")), WriteSummaries.of("update"));
    Runnable failing =
        () -> {
          throw new IllegalStateException("no maintenance today");
        };
    assertTrue(new Commits(table, failing).make(append).isCommitted());
  }

  /** A catalog may fail before or after it has taken a commit; its writer sends the rows again. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void rowsThatAreSentAgainAfterAFailureCountOnce(boolean isTaken) {
    OffsetRanges offsets = OffsetRanges.parse("offsets", "{\"clicks-0\": [0, 100]}");
    WriteSummary summary =
        new WriteSummary("update", 1, 1L, 1L, List.of("spend"), WriteLabels.NONE.of(offsets));
    Table failing = failing(isTaken, new IllegalStateException("the connection was reset"));
    try {
      new Commits(failing).make(new Append(null, List.of(file("1")), summary));
    } catch (KeylakeException e) {
      assertFalse(isTaken, "a commit that stands is a success");
    }
    table.refresh();
    assertEquals(isTaken ? Map.of("clicks-0", 100L) : Map.of(), SourceOffsets.next(table, null));
    Commits.Result again = new Commits(table).make(new Append(null, List.of(file("2")), summary));
    assertEquals(isTaken, again.isRepeated());
    assertEquals(List.of(isTaken ? "1" : "2"), files(table));
    assertEquals(Map.of("clicks-0", 100L), SourceOffsets.next(table, null));
  }
}
