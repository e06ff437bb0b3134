package io.keylake.tables.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Rollback;
import io.keylake.tables.commits.SteeredOperations;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.history.WriteSummaries;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.stream.StreamSupport;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What stays in a table, however tightly it is cleaned. */
class ExpiryTest {
  private static final RetentionPolicy TIGHTEST = new RetentionPolicy(0.0, 1, 0, null, 0, 30);

  private static void clean(Table table) {
    Housekeeping.run(table, TIGHTEST, Instant.now().plusSeconds(1));
    table.refresh();
  }

  @Test
  void theCommitBeforeForeignOnesDoesNotExpire(@TempDir Path folder) {
    TableOnDisk disk = new TableOnDisk(folder.resolve("t"), new DiskFiles());
    Table table = disk.opened().table;
    Commits commits = new Commits(table);
    DataFile file = disk.written("1 a @10");
    commits.make(new Append(null, List.of(file), WriteSummaries.of("update")));
    table.refresh();
    long first = table.currentSnapshot().snapshotId();
    DataFile more = disk.written("2 b @11");
    commits.make(new Append(null, List.of(more), WriteSummaries.of("update")));
    table.refresh();
    long base = table.currentSnapshot().snapshotId();
    table.newAppend().appendFile(disk.written("3 c @12")).commit();
    table.newDelete().deleteFromRowFilter(Expressions.alwaysTrue()).commit();
    long foreign = table.currentSnapshot().snapshotId();
    clean(table);
    assertNull(table.snapshot(first));
    disk.assertNothingIsMissing("after a foreign delete");
    commits.make(new Rollback(null, base));
    table.refresh();
    assertEquals(base, table.currentSnapshot().snapshotId());
    clean(table);
    assertNull(table.snapshot(foreign));
    disk.assertNothingIsMissing("after it was taken back");
  }

  @Test
  void factsAreCarriedOnFirst(@TempDir Path folder) {
    TableOnDisk disk = new TableOnDisk(folder.resolve("t"), new DiskFiles());
    Table table = disk.opened().table;
    Commits commits = new Commits(table);
    commits.make(new Append(null, List.of(disk.written("1 a @10")), WriteSummaries.of("update")));
    commits.make(new Append(null, List.of(disk.written("2 b @11")), WriteSummaries.of("update")));
    table.rewriteManifests().clusterBy(file -> 0).commit(); // by an engine that carries nothing on
    table.updateProperties().set(TableProperties.COMMIT_NUM_RETRIES, "0").commit();
    long before = snapshots(table);
    Table busy =
        new BaseTable(
            SteeredOperations.failing(
                ((BaseTable) table).operations(),
                false,
                new CommitFailedException("somebody else was quicker")),
            table.name());
    clean(busy);
    assertEquals(before, snapshots(table), "others came first");
    clean(table);
    assertEquals(1, snapshots(table));
    assertTrue(Lineage.of(table, table.currentSnapshot().snapshotId()).isKnown());
  }

  private static long snapshots(Table table) {
    table.refresh();
    return StreamSupport.stream(table.snapshots().spliterator(), false).count();
  }
}
