package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitLog.Entry;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.Settled;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTables;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.stream.StreamSupport;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.ExpireSnapshots;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CommitsTest {
  private static final Expression ALL = Expressions.alwaysTrue();
  private InMemoryCatalog catalog;
  private Table table;

  @BeforeEach
  void createTable() {
    catalog = MemoryTables.partitioned();
    table = catalog.loadTable(MemoryTables.NAME);
  }

  /** The commits of a branch, as short words of these tests. */
  private record Branch(Table table, String name) {
    boolean append(List<DataFile> files, WriteSummary summary) {
      return new Commits(table).make(new Append(name, files, summary)).isCommitted();
    }

    boolean overwrite(Expression filter, List<DataFile> files, WriteSummary summary) {
      return new Commits(table).make(new Overwrite(name, filter, files, summary)).isCommitted();
    }

    CommitLog log() {
      return new CommitLog(table, name);
    }
  }

  private Branch main() {
    return new Branch(table, null);
  }

  private DataFile file(String name) {
    return MemoryTables.dayFile(table, name);
  }

  private static WriteSummary keyed(String verb, String idempotencyKey) {
    return new WriteSummary(
        verb, 1, 7L, 9L, List.of("spend"), WriteLabels.NONE.once(idempotencyKey));
  }

  private List<String> files(Table of) {
    of.refresh();
    return StreamSupport.stream(of.newScan().planFiles().spliterator(), false)
        .map((FileScanTask task) -> task.file().location())
        .sorted()
        .toList();
  }

  private String plainReads() {
    return table.currentSnapshot().summary().get(WriteSummary.PLAIN_READS);
  }

  @Test
  void aTableWithoutCommitsHasNoHistory() {
    assertEquals(List.of(), main().log().entries(entry -> true, 10));
  }

  @Test
  void historyIsWhatCommitsSay() {
    main()
        .append(
            List.of(file("1"), file("2")),
            new WriteSummary(
                "update",
                3,
                -5L,
                8L,
                List.of("spend", "Zeit", "a"),
                new WriteLabels("clicks", "ann", "w1", "i1", OffsetRanges.NONE, null)));
    main().append(List.of(), WriteSummaries.of("delete"));
    List<Entry> entries = main().log().entries(entry -> true, 10);
    Entry first = entries.get(1);
    long committedAt = table.snapshot(first.snapshotId()).timestampMillis() * 1000;
    assertEquals(
        new Entry(
            first.snapshotId(),
            null,
            committedAt,
            "update",
            3L,
            -5L,
            8L,
            List.of("Zeit", "a", "spend"),
            "clicks",
            "ann",
            "w1",
            "i1",
            2L,
            null,
            false,
            0L,
            0L),
        first);
    Entry second = entries.get(0);
    assertEquals(first.snapshotId(), second.parentId());
    assertEquals("delete", second.verb());
    assertEquals(List.of(), second.columns());
    assertEquals(0, second.rows());
    assertEquals(0, second.files());
    assertNull(second.minVersion());
    assertNull(second.stream());
    assertNull(second.idempotencyKey());
  }

  @Test
  void historyIsNewestFirstAndCanBeCut() {
    for (String verb : List.of("upsert", "update", "delete", "update")) {
      main().append(List.of(), WriteSummaries.of(verb));
    }
    assertEquals(List.of("update", "delete", "update", "upsert"), verbs(e -> true, 10));
    assertEquals(List.of("update", "delete"), verbs(e -> true, 2));
    assertEquals(List.of("update", "update"), verbs(e -> e.verb().equals("update"), 10));
    assertEquals(List.of("update"), verbs(e -> e.verb().equals("update"), 1));
    assertEquals(List.of(), verbs(e -> true, 0));
  }

  private List<String> verbs(Predicate<Entry> fits, int atMost) {
    return main().log().entries(fits, atMost).stream().map(Entry::verb).toList();
  }

  @Test
  void aForeignCommitHasNoVerb() {
    table.newAppend().appendFile(file("1")).commit();
    Entry entry = main().log().entries(e -> true, 10).get(0);
    assertNull(entry.verb());
    assertNull(entry.rows());
    assertEquals(List.of(), entry.columns());
    assertEquals(1, entry.files());
  }

  @Test
  void aBranchHasItsOwnCommitsBehindThoseItCameFrom() {
    main().append(List.of(file("1")), WriteSummaries.of("upsert"));
    table.manageSnapshots().createBranch("draft").commit();
    Branch draft = new Branch(table, "draft");
    draft.append(List.of(file("2")), WriteSummaries.of("delete"));
    main().append(List.of(file("3")), WriteSummaries.of("update"));
    assertEquals(
        List.of("delete", "upsert"),
        draft.log().entries(e -> true, 9).stream().map(Entry::verb).toList());
    assertEquals(List.of("update", "upsert"), verbs(e -> true, 9));
    assertEquals(List.of("1", "3"), files(table));
  }

  @Test
  void aBranchThatIsNotThere() {
    Branch draft = new Branch(table, "draft");
    for (KeylakeException refused :
        List.of(
            assertThrows(KeylakeException.class, () -> draft.log().entries(e -> true, 1)),
            assertThrows(
                KeylakeException.class, () -> draft.append(List.of(), WriteSummaries.of("update"))),
            assertThrows(
                KeylakeException.class,
                () -> draft.overwrite(ALL, List.of(), WriteSummaries.of("overwrite"))))) {
      assertEquals(KeylakeException.Kind.NOT_FOUND, refused.kind());
      assertTrue(refused.getMessage().contains("has no branch 'draft'"), refused.getMessage());
    }
    assertNull(table.currentSnapshot());
  }

  @Test
  void anIdempotencyKeyCommitsOnce() {
    assertTrue(main().append(List.of(file("1")), keyed("update", "i1")));
    assertFalse(main().append(List.of(file("2")), keyed("update", "i1")));
    assertTrue(main().append(List.of(file("3")), keyed("update", "i2")));
    assertFalse(main().overwrite(ALL, List.of(file("4")), keyed("overwrite", "i1")));
    assertEquals(List.of("1", "3"), files(table));
    assertEquals(List.of("update", "update"), verbs(e -> true, 9));
  }

  @Test
  void anIdempotencyKeyCommitsOnceThoughSomebodyElseWasQuicker() {
    Table stale = catalog.loadTable(MemoryTables.NAME);
    assertTrue(main().append(List.of(file("1")), keyed("update", "i1")));
    assertFalse(new Branch(stale, null).append(List.of(file("2")), keyed("update", "i1")));
    assertEquals(List.of("1"), files(table));
  }

  @Test
  void whatIsSettledIsCarriedOnButNotOverARollback() {
    assertTrue(main().append(List.of(file("1")), keyed("update", null)));
    long first = table.currentSnapshot().snapshotId();
    table.newAppend().set(Settled.THROUGH, "1").commit();
    assertTrue(main().append(List.of(file("2")), keyed("update", null)));
    assertEquals(1, Settled.of(table.currentSnapshot()).through());
    for (boolean isOverwrite : List.of(false, true)) {
      table.newAppend().set(Settled.THROUGH, "3").commit();
      Branch stale = new Branch(catalog.loadTable(MemoryTables.NAME), null);
      table.manageSnapshots().rollbackTo(first).commit();
      assertTrue(
          isOverwrite
              ? stale.overwrite(ALL, List.of(file("4")), keyed("overwrite", null))
              : stale.append(List.of(file("3")), keyed("update", null)));
      table.refresh();
      assertEquals(Settled.NOTHING, Settled.of(table.currentSnapshot()));
    }
  }

  @Test
  void anIdempotencyKeyBelongsToABranch() {
    main().append(List.of(file("1")), WriteSummaries.of("upsert"));
    table.manageSnapshots().createBranch("draft").commit();
    assertTrue(new Branch(table, "draft").append(List.of(file("2")), keyed("update", "i1")));
    assertTrue(main().append(List.of(file("3")), keyed("update", "i1")));
  }

  @Test
  void versionsOfCommitsNeverFall() {
    long before = System.currentTimeMillis() * 1000;
    assertTrue(main().log().nextVersion() >= before);
    long future = before + 3_600_000_000L;
    main()
        .append(
            List.of(), new WriteSummary("update", 1, future, future, List.of(), WriteLabels.NONE));
    main().append(List.of(), WriteSummaries.of("update"));
    assertEquals(future, main().log().nextVersion());
  }

  @Test
  void anOverwriteReplacesWhatItSelects() {
    main().append(List.of(file("1a"), file("2a")), WriteSummaries.of("upsert"));
    main()
        .overwrite(
            Expressions.equal("day", "2026-01-01"),
            List.of(file("1b")),
            WriteSummaries.of("overwrite"));
    assertEquals(List.of("1b", "2a"), files(table));
    assertEquals("unmerged", plainReads());
    main().overwrite(ALL, List.of(file("3a")), WriteSummaries.of("overwrite"));
    assertEquals(List.of("3a"), files(table));
    assertEquals("safe", plainReads());
    assertEquals(List.of("overwrite", "overwrite", "upsert"), verbs(e -> true, 9));
  }

  @Test
  void plainReadsAreSafeWhileEveryKeyStandsOnce() {
    main().append(List.of(file("1")), WriteSummaries.of("update"));
    assertEquals("safe", plainReads());
    main().append(List.of(file("2")), WriteSummaries.of("update"));
    assertEquals("unmerged", plainReads());
    for (String verb : List.of("delete", "apply_changes")) {
      createTable();
      main().append(List.of(file("1")), WriteSummaries.of(verb));
      assertEquals("unmerged", plainReads());
    }
  }

  @Test
  void theSecondOfTwoFirstCommitsIsNotSafe() {
    Table stale = catalog.loadTable(MemoryTables.NAME);
    main().append(List.of(file("1")), WriteSummaries.of("update"));
    assertTrue(new Branch(stale, null).append(List.of(file("2")), WriteSummaries.of("update")));
    assertEquals(List.of("1", "2"), files(table));
    assertEquals("unmerged", plainReads());
  }

  @Test
  void partsHaveTheNumbersOfTheirCommitsThoughAnotherCommitCameFirst() {
    main().append(List.of(file("9")), WriteSummaries.of("update"));
    AtomicBoolean isFirst = new AtomicBoolean(true);
    Commits.Result result =
        new Commits(table)
            .make(
                attempt -> {
                  for (String name : List.of("1", "2", "3")) {
                    new Append(null, List.of(file(name)), WriteSummaries.of("update"))
                        .addTo(attempt);
                  }
                  if (isFirst.getAndSet(false)) {
                    Table other = catalog.loadTable(MemoryTables.NAME);
                    new Branch(other, null).append(List.of(file("8")), WriteSummaries.of("update"));
                  }
                });
    assertTrue(result.isCommitted());
    table.refresh();
    Map<String, Long> numbers = new TreeMap<>();
    table
        .newScan()
        .planFiles()
        .forEach(task -> numbers.put(task.file().location(), task.file().dataSequenceNumber()));
    Map<String, Long> expected = new TreeMap<>();
    List<String> inOrder = List.of("9", "8", "1", "2", "3");
    inOrder.forEach(name -> expected.put(file(name).location(), 1L + inOrder.indexOf(name)));
    assertEquals(expected, numbers);
  }

  @Test
  void aKeyIsKnownLongerThanItsSnapshot() {
    assertTrue(main().append(List.of(file("1")), keyed("update", "i1")));
    long first = table.currentSnapshot().snapshotId();
    assertTrue(main().append(List.of(file("2")), keyed("update", "i2")));
    table.manageSnapshots().createBranch("draft").commit();
    table
        .expireSnapshots()
        .expireOlderThan(System.currentTimeMillis() + 1000)
        .cleanupLevel(ExpireSnapshots.CleanupLevel.NONE)
        .commit();
    assertNull(table.snapshot(first));
    Commits.Result again =
        new Commits(table).make(new Append(null, List.of(file("3")), keyed("update", "i1")));
    assertTrue(again.isRepeated());
    assertEquals(first, again.first().snapshotId());
    assertEquals(1L, again.first().rows());
    assertFalse(new Branch(table, "draft").append(List.of(file("3")), keyed("update", "i1")));
    assertEquals(List.of("1", "2"), files(table));
  }
}
