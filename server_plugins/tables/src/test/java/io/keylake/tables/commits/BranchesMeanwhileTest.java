package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.branches.DroppedBranch;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.branches.MergedBranch;
import io.keylake.tables.branches.NewBranch;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.planning.MemoryTables;
import java.time.Duration;
import java.time.Instant;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Branches are made, moved and dropped while others write: Iceberg does not apply such a change
 * again where another commit came first.
 */
class BranchesMeanwhileTest {
  private static final Instant FIRST = Instant.parse("2026-11-01T00:00:00Z");
  private static final int OTHERS = 3;

  private InMemoryCatalog catalog;
  private Table table;
  private int files;

  @BeforeEach
  void createTable() {
    catalog = MemoryTables.partitioned();
    table = catalog.loadTable(MemoryTables.NAME);
    append();
    table.refresh();
  }

  private void append() {
    Table of = catalog.loadTable(MemoryTables.NAME);
    String name = "1." + files++;
    new Commits(of)
        .make(
            new Append(null, List.of(MemoryTables.dayFile(of, name)), WriteSummaries.of("update")));
  }

  /** The table as somebody sees it who is always a commit behind, some times. */
  private Table busy(Runnable other) {
    Iterator<Runnable> others = IntStream.range(0, OTHERS).mapToObj(each -> other).iterator();
    return new BaseTable(
        SteeredOperations.busy(((BaseTable) table).operations(), others), "shop.orders");
  }

  private Set<String> branches() {
    table.refresh();
    return table.refs().keySet();
  }

  @Test
  void aBranchIsMadeOfWhatMainIsThen() {
    Table busy = busy(this::append);
    assertTrue(new Commits(busy).make(new NewBranch("dev")).isCommitted());
    assertEquals(Set.of("main", "dev"), branches());
    assertEquals(table.currentSnapshot().snapshotId(), table.refs().get("dev").snapshotId());
    assertEquals(1 + OTHERS, files);
  }

  @Test
  void aBranchThatAnotherMakesIsThere() {
    Table busy =
        busy(
            () -> {
              append();
              new Commits(catalog.loadTable(MemoryTables.NAME)).make(new NewBranch("dev"));
            });
    assertFalse(new Commits(busy).make(new NewBranch("dev")).isCommitted());
    assertEquals(Set.of("main", "dev"), branches());
  }

  @Test
  void aBranchIsDropped() {
    new Commits(table).make(new NewBranch("dev"));
    assertTrue(new Commits(busy(this::append)).make(new DroppedBranch("dev")).isCommitted());
    assertEquals(Set.of("main"), branches());
  }

  @Test
  void aBranchIsRolledBackToWhereItWasAsked() {
    long first = table.currentSnapshot().snapshotId();
    append();
    new Commits(busy(this::append)).make(new Rollback(null, first));
    table.refresh();
    assertEquals(first, new CommitLog(table, null).headId());
  }

  @Test
  void aTimeIsArchivedAsMainWasWhenItWasAsked() {
    long asked = table.currentSnapshot().snapshotId();
    List<HistoryBranches.State> made = new HistoryBranches(busy(this::append)).archive(FIRST, null);
    assertEquals(
        List.of(new HistoryBranches.State(FIRST, "history_20261101T000000Z", asked)), made);
    assertEquals(Set.of("main", "history_20261101T000000Z"), branches());
  }

  @Test
  void aTimeThatAnotherArchivesIsArchivedOnce() {
    Duration day = Duration.ofDays(1);
    new HistoryBranches(table).archive(FIRST, null);
    Table busy =
        busy(
            () ->
                new HistoryBranches(catalog.loadTable(MemoryTables.NAME))
                    .archive(FIRST.plus(day), day));
    List<HistoryBranches.State> made =
        new HistoryBranches(busy).archive(FIRST.plus(day.multipliedBy(2)), day);
    assertEquals(
        List.of(FIRST.plus(day.multipliedBy(2))),
        made.stream().map(HistoryBranches.State::time).toList());
    assertEquals(4, branches().size());
  }

  @Test
  void statesAreDroppedByTheirRule() {
    new HistoryBranches(table).archive(FIRST, null);
    new HistoryBranches(table).archive(FIRST.plus(Duration.ofDays(9)), Duration.ofDays(9));
    RetentionPolicy policy = new RetentionPolicy(null, 1, null, 3, 1.0, 0, 30);
    Instant now = FIRST.plus(Duration.ofDays(9));
    assertEquals(1, new HistoryBranches(busy(this::append)).dropExpired(policy, now));
    assertEquals(Set.of("main", "history_20261110T000000Z"), branches());
  }

  @Test
  void aMergedBranchIsBegun() {
    MergedBranch begun = MergedBranch.begin(busy(this::append));
    assertEquals(Set.of("main", begun.working()), branches());
  }
}
