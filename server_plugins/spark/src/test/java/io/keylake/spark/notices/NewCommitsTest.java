package io.keylake.spark.notices;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.spark.notices.NewCommits.Place;
import io.keylake.tables.KeylakeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NewCommitsTest {
  private static final TableIdentifier NAME = TableIdentifier.of("a", "t");
  private static final Duration LONG = Duration.ofMinutes(1);

  @TempDir Path folder;
  private HadoopCatalog catalog;
  private final ExecutorService waiting = Executors.newCachedThreadPool();
  private final AtomicInteger looks = new AtomicInteger();

  @BeforeEach
  void createTable() {
    catalog = new HadoopCatalog(new Configuration(), folder.toString());
    catalog.createTable(
        NAME, new Schema(Types.NestedField.required(1, "id", Types.LongType.get())));
  }

  @AfterEach
  void nobodyWaits() throws Exception {
    waiting.shutdownNow();
    assertTrue(waiting.awaitTermination(1, TimeUnit.MINUTES));
    assertEquals(0, NewCommits.tables());
    catalog.close();
  }

  private NewCommits commits() {
    Supplier<Table> load =
        () -> {
          looks.incrementAndGet();
          return catalog.loadTable(NAME);
        };
    return new NewCommits(new Place(catalog, NAME), load, null);
  }

  private List<Long> await(long after, Duration atMost) {
    return commits().await(after, true, atMost).stream().map(entry -> entry.snapshotId()).toList();
  }

  private long commit() {
    Table table = catalog.loadTable(NAME);
    table.newFastAppend().commit();
    return table.currentSnapshot().snapshotId();
  }

  @Test
  void commitsAreToldToAllWhoWaitForThem() throws Exception {
    List<Future<List<Long>>> told = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      told.add(waiting.submit(() -> await(0, LONG)));
    }
    while (looks.get() < 8) {
      Thread.sleep(1);
    }
    long first = commit();
    for (Future<List<Long>> each : told) {
      assertEquals(List.of(first), each.get());
    }
    long second = commit();
    assertEquals(List.of(first, second), await(0, Duration.ZERO));
    assertEquals(List.of(second), await(first, LONG));
  }

  @Test
  void oneLooksForAllWhoWait() throws Exception {
    long begunAt = System.nanoTime();
    List<Future<List<Long>>> told = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      told.add(waiting.submit(() -> await(0, Duration.ofMillis(400))));
    }
    for (Future<List<Long>> each : told) {
      assertEquals(List.of(), each.get());
    }
    long pauses = (System.nanoTime() - begunAt) / Duration.ofMillis(20).toNanos();
    assertTrue(looks.get() <= 50 + pauses + 1, "one for each at first, and one for all: " + looks);
  }

  @Test
  void aCommitThatIsNotKeptIsRefusedAtOnce() {
    assertThrows(KeylakeException.class, () -> await(77, LONG));
  }

  @Test
  void aWaitCanBeCancelled() throws Exception {
    Table table = catalog.loadTable(NAME);
    Supplier<Table> load =
        () -> {
          looks.incrementAndGet();
          return table;
        };
    NewCommits commits = new NewCommits(new Place(catalog, NAME), load, null);
    Future<CancellationException> told =
        waiting.submit(
            () -> assertThrows(CancellationException.class, () -> commits.await(0, true, LONG)));
    while (looks.get() == 0) {
      Thread.sleep(1);
    }
    waiting.shutdownNow();
    assertEquals("the wait for commits was cancelled", told.get().getMessage());
  }
}
