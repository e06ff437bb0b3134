package io.keylake.tables.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Rollback;
import io.keylake.tables.commits.SteeredOperations;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.Positions;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.StreamSupport;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What stays in a table, however tightly it is cleaned. */
class ExpiryTest {
  private static final RetentionPolicy TIGHTEST = new RetentionPolicy(0.0, 1, null, 0, null, 0, 30);

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

  private static void write(TableOnDisk disk, Table table, String branch, int number) {
    WriteLabels labels =
        new WriteLabels("s", null, null, "key " + number, OffsetRanges.NONE, (long) number);
    WriteSummary said = new WriteSummary("update", 1, 1L, 1L, List.of("a"), labels);
    List<DataFile> files = List.of(disk.written(number + " a @" + number));
    new Commits(table).make(new Append(branch, files, said));
    table.refresh();
  }

  /** Many small commits leave what a policy says of snapshots, and all that was said of them. */
  @Test
  void manyCommitsLeaveABoundedNumberOfSnapshotsAndMetadataFiles(@TempDir Path folder) {
    TableOnDisk disk = new TableOnDisk(folder.resolve("t"), new DiskFiles());
    Table table = disk.opened().table;
    table.updateProperties().set(TableProperties.METADATA_PREVIOUS_VERSIONS_MAX, "5").commit();
    RetentionPolicy policy = new RetentionPolicy(7.0, 1, 4, 3, null, 0, 30);
    for (int number = 1; number <= 15; number++) {
      write(disk, table, null, number);
      assertTrue(metadataFiles(disk) <= 6, "the present one and five before it");
    }
    Retained before = Retained.of(table, Instant.now());
    assertEquals(List.of(15, 0, 6, 0), figures(before), "1,000 would be kept");
    Housekeeping.Done done = Housekeeping.run(table, policy, Instant.now());
    assertEquals(List.of(11L, 0L), List.of(done.snapshots(), done.orphans()));
    assertEquals(4, snapshots(table));
    assertTrue(metadataFiles(disk) <= 6);
    disk.assertNothingIsMissing("after a cleaning");
    write(disk, table, null, 1);
    assertEquals(4, snapshots(table), "the key of a commit that has expired is still known");
    long head = table.currentSnapshot().snapshotId();
    assertEquals(Map.of("s", 15L), Watermarks.of(table, head).byStream());
    assertEquals(0, Housekeeping.run(table, policy, Instant.now()).snapshots());
  }

  private static List<Integer> figures(Retained retained) {
    return List.of(
        retained.snapshots(),
        retained.expirable(),
        retained.metadataFiles(),
        retained.oldMetadataFiles());
  }

  private static long metadataFiles(TableOnDisk disk) {
    return disk.files().stream().filter(each -> each.toString().endsWith(".metadata.json")).count();
  }

  /** As tables from before there was a limit have them. */
  @Test
  void oldMetadataFilesAreFoundByTheLogsThatNameThem(@TempDir Path folder) throws IOException {
    TableOnDisk disk = new TableOnDisk(folder.resolve("t"), new DiskFiles());
    Table table = disk.opened().table;
    UpdateProperties old = table.updateProperties();
    old.remove(TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED);
    old.set(TableProperties.METADATA_PREVIOUS_VERSIONS_MAX, "3").commit();
    for (int number = 1; number <= 12; number++) {
      write(disk, table, null, number);
    }
    assertEquals(14, metadataFiles(disk));
    Path metadata = folder.resolve("t/metadata");
    Path foreign = metadata.resolve("00003-%s.metadata.json".formatted(UUID.randomUUID()));
    Files.copy(Path.of(((BaseTable) table).operations().current().metadataFileLocation()), foreign);
    assertEquals(List.of(12, 0, 14, 10), figures(Retained.of(table, Instant.now())));
    Housekeeping.Done done =
        Housekeeping.run(table, RetentionPolicy.fromJson("{\"days\": null}"), Instant.now());
    assertEquals(11, done.metadataFiles());
    assertTrue(Files.exists(foreign), "no metadata of the table names it");
    assertEquals(5, metadataFiles(disk), "the present one, three before it, and that");
    assertEquals("true", table.properties().get("write.metadata.delete-after-commit.enabled"));
    assertEquals("3", table.properties().get("write.metadata.previous-versions-max"));
    disk.assertNothingIsMissing("after old metadata went");
  }

  @Test
  void whoeverKeepsAllMetadataFilesKeepsThem(@TempDir Path folder) {
    TableOnDisk disk = new TableOnDisk(folder.resolve("t"), new DiskFiles());
    Table table = disk.opened().table;
    UpdateProperties all = table.updateProperties();
    all.set(TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED, "false");
    all.set(TableProperties.METADATA_PREVIOUS_VERSIONS_MAX, "1").commit();
    for (int number = 1; number <= 4; number++) {
      write(disk, table, null, number);
    }
    Housekeeping.run(table, RetentionPolicy.DEFAULT, Instant.now());
    assertTrue(metadataFiles(disk) > 5);
  }

  /** A consumer that is behind holds snapshots back, and it can be told which one. */
  @Test
  void whatAConsumerHasToReadIsNoPartOfANumber(@TempDir Path folder) {
    TableOnDisk disk = new TableOnDisk(folder.resolve("t"), new DiskFiles());
    Table table = disk.opened().table;
    table
        .updateProperties()
        .set(RetentionPolicy.PROPERTY, "{\"days\": 7, \"max_snapshots\": 2}")
        .commit();
    for (int number = 1; number <= 8; number++) {
      write(disk, table, null, number);
      if (number == 3) {
        long at = table.currentSnapshot().snapshotId();
        new Positions(table, Positions.Kind.CONSUMER).move("late", null, at);
      }
    }
    Retained retained = Retained.of(table, Instant.now());
    assertEquals(List.of(8, 2), figures(retained).subList(0, 2));
    assertEquals(4, retained.held());
    assertEquals("late", retained.heldBy());
    Housekeeping.run(table, RetentionPolicy.of(table), Instant.now());
    assertEquals(6, snapshots(table));
  }

  /** The state of any moment within the days can be read, however old its commit is. */
  @Test
  void aSnapshotIsAsOldAsItHasNotBeenTheNewest(@TempDir Path folder) throws InterruptedException {
    TableOnDisk disk = new TableOnDisk(folder.resolve("t"), new DiskFiles());
    Table table = disk.opened().table;
    write(disk, table, null, 1);
    write(disk, table, null, 2);
    table.manageSnapshots().createBranch("side", table.currentSnapshot().parentId()).commit();
    long second = table.currentSnapshot().timestampMillis();
    Thread.sleep(5);
    write(disk, table, null, 3);
    Instant now = Instant.ofEpochMilli(second + 1).plus(Duration.ofDays(1));
    RetentionPolicy oneDay = new RetentionPolicy(1.0, 1, null, 3, null, 0, 30);
    assertEquals(Set.of(), Expiry.of(table, oneDay, now), "the first is the head of a branch");
    table.manageSnapshots().removeBranch("side").commit();
    assertEquals(1, Expiry.of(table, oneDay, now).size(), "the second was the newest until then");
    RetentionPolicy none = new RetentionPolicy(0.0, 2, 1, 3, null, 0, 30);
    assertEquals(1, Expiry.of(table, none, now).size(), "the newest two are kept in any case");
    table.manageSnapshots().setMinSnapshotsToKeep("main", 3).commit();
    assertEquals(Set.of(), Expiry.of(table, none, now), "as the branch itself says");
  }

  private static long snapshots(Table table) {
    table.refresh();
    return StreamSupport.stream(table.snapshots().spliterator(), false).count();
  }
}
