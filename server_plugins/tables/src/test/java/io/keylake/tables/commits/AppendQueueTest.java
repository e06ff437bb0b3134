package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTables;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.StreamSupport;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Appends that wait for one another; each writer has a table of its own, as sessions have. */
class AppendQueueTest {
  private final ExecutorService writers = Executors.newCachedThreadPool();
  private final List<Thread> threads = new ArrayList<>();
  private final CountDownLatch isBusy = new CountDownLatch(1);
  private final CountDownLatch isFree = new CountDownLatch(1);
  private InMemoryCatalog catalog;
  private Table table;

  @BeforeEach
  void createTable() {
    catalog = MemoryTables.partitioned();
    table = catalog.loadTable(MemoryTables.NAME);
    table.updateProperties().set("commit.status-check.min-wait-ms", "1").commit();
  }

  @AfterEach
  void endWriters() {
    isFree.countDown();
    writers.shutdownNow();
  }

  /** The first writer commits and keeps its turn, until it is told to go on. */
  private Future<Commits.Result> first() throws InterruptedException {
    Future<Commits.Result> first =
        writers.submit(
            () ->
                new Commits(
                        load(),
                        () -> {
                          isBusy.countDown();
                          waitFor(isFree);
                        })
                    .make(append("1-first", WriteLabels.NONE)));
    isBusy.await();
    return first;
  }

  private static void waitFor(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private Table load() {
    return catalog.loadTable(MemoryTables.NAME);
  }

  private Append append(String name, WriteLabels labels) {
    store().addFile(name, new byte[] {1});
    WriteSummary summary = new WriteSummary("update", 1, 7L, 9L, List.of("spend"), labels);
    return new Append(null, List.of(MemoryTables.dayFile(table, name)), summary);
  }

  /** Another writer, which waits for its turn when this returns. */
  private Future<Commits.Result> next(Table of, Append append) throws InterruptedException {
    CompletableFuture<Commits.Result> result = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                result.complete(new Commits(of).make(append));
              } catch (RuntimeException e) {
                result.completeExceptionally(e);
              }
            });
    thread.start();
    threads.add(thread);
    while (thread.getState() != Thread.State.WAITING) {
      Thread.sleep(1);
    }
    return result;
  }

  private List<String> files() {
    table.refresh();
    return StreamSupport.stream(table.newScan().planFiles().spliterator(), false)
        .map(task -> task.file().location())
        .sorted()
        .toList();
  }

  private int versions() {
    table.refresh();
    return ((HasTableOperations) table).operations().current().previousFiles().size();
  }

  private InMemoryFileIO store() {
    return (InMemoryFileIO) table.io();
  }

  @Test
  void whatWaitsIsCommittedByOneChangeWithASnapshotEach() throws Exception {
    Future<Commits.Result> first = first();
    List<Future<Commits.Result>> others = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      others.add(next(load(), append("1-other " + i, WriteLabels.NONE)));
    }
    int before = versions();
    isFree.countDown();
    Set<Long> snapshots = new HashSet<>(Set.of(first.get().lastSnapshotId()));
    for (Future<Commits.Result> other : others) {
      snapshots.add(other.get().lastSnapshotId());
    }
    assertEquals(
        List.of("1-first", "1-other 0", "1-other 1", "1-other 2", "1-other 3", "1-other 4"),
        files());
    assertEquals(1, versions() - before);
    assertEquals(6, new CommitLog(table, null).entries(entry -> true, 9).size());
    assertEquals(6, snapshots.size());
    for (long snapshot : snapshots) {
      assertEquals("1", table.snapshot(snapshot).summary().get("added-data-files"));
    }
  }

  @Test
  void anIdempotencyKeyCountsOnceThoughBothWait() throws Exception {
    Future<Commits.Result> first = first();
    WriteLabels once = WriteLabels.NONE.once("batch 7");
    Future<Commits.Result> made = next(load(), append("1-a", once));
    Future<Commits.Result> plain = next(load(), append("1-b", WriteLabels.NONE));
    Future<Commits.Result> again = next(load(), append("1-c", once));
    isFree.countDown();
    first.get();
    plain.get();
    assertEquals(1, (made.get().isCommitted() ? 1 : 0) + (again.get().isCommitted() ? 1 : 0));
    assertTrue(made.get().isRepeated() || again.get().isRepeated());
    assertEquals(3, files().size());
  }

  @Test
  void oneThatCannotBeCommittedHoldsUpNobody() throws Exception {
    Future<Commits.Result> first = first();
    PartitionSpec unknown = PartitionSpec.builderFor(table.schema()).withSpecId(9).build();
    store().addFile("1-bad", new byte[] {1});
    DataFile lost =
        DataFiles.builder(unknown)
            .withPath("1-bad")
            .withFormat("parquet")
            .withFileSizeInBytes(10)
            .withRecordCount(1)
            .build();
    Future<Commits.Result> good = next(load(), append("1-good", WriteLabels.NONE));
    Future<Commits.Result> bad =
        next(load(), new Append(null, List.of(lost), WriteSummaries.of("update")));
    Future<Commits.Result> better = next(load(), append("1-better", WriteLabels.NONE));
    isFree.countDown();
    first.get();
    assertTrue(good.get().isCommitted());
    assertTrue(better.get().isCommitted());
    assertThrows(ExecutionException.class, bad::get);
    assertEquals(List.of("1-better", "1-first", "1-good"), files());
    assertFalse(store().fileExists("1-bad"));
    assertTrue(store().fileExists("1-good"));
  }

  @Test
  void aWriterThatIsInterruptedWhileItWaitsLeavesNothing() throws Exception {
    Future<Commits.Result> first = first();
    Future<Commits.Result> other = next(load(), append("1-other", WriteLabels.NONE));
    threads.get(0).interrupt();
    ExecutionException failure = assertThrows(ExecutionException.class, other::get);
    assertTrue(failure.getMessage().contains("was interrupted before it was made"));
    isFree.countDown();
    first.get();
    assertEquals(List.of("1-first"), files());
    assertFalse(store().fileExists("1-other"));
  }

  @Test
  void filesOfAllAreKeptWhereNobodyKnowsWhetherTheyAreCommitted() throws Exception {
    Future<Commits.Result> first = first();
    Table unsure =
        new BaseTable(
            SteeredOperations.failing(
                ((BaseTable) load()).operations(), false, new IllegalStateException("reset")),
            "shop.orders");
    List<Future<Commits.Result>> others =
        List.of(
            next(unsure, append("1-a", WriteLabels.NONE)),
            next(unsure, append("1-b", WriteLabels.NONE)));
    isFree.countDown();
    first.get();
    for (Future<Commits.Result> other : others) {
      ExecutionException failure = assertThrows(ExecutionException.class, other::get);
      assertTrue(failure.getMessage().contains("was changed is not known"), failure.getMessage());
    }
    assertTrue(
        store().fileExists("1-a") && store().fileExists("1-b"), "the commit may still arrive");
  }
}
