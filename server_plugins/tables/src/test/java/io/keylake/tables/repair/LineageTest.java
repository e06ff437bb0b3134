package io.keylake.tables.repair;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Rollback;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.planning.MemoryTable;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.Test;

/** Who made the commits of a branch, and what is done about those that keylake did not make. */
class LineageTest {
  private final MemoryTable memory = MemoryTable.create("explicit");
  private final Table table = memory.table;

  private DataFile plain(String name) {
    return DataFiles.builder(table.spec())
        .withPath(name)
        .withFormat("parquet")
        .withFileSizeInBytes(10)
        .withRecordCount(1)
        .withPartitionPath("k_bucket=0")
        .build();
  }

  private Snapshot append(String name) {
    table.newAppend().appendFile(plain(name)).commit();
    table.refresh();
    return table.currentSnapshot();
  }

  private void rewriteManifests() {
    table.rewriteManifests().clusterBy(file -> 0).commit();
    table.refresh();
  }

  private void expireAllButTheHead() {
    table.expireSnapshots().expireOlderThan(Long.MAX_VALUE).retainLast(1).commit();
    table.refresh();
    assertEquals(1, memorySnapshots());
  }

  private int memorySnapshots() {
    int count = 0;
    for (Snapshot ignored : table.snapshots()) {
      count++;
    }
    return count;
  }

  private void assertRefused(String... words) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> Lineage.check(table, memory.head()));
    assertEquals(KeylakeException.Kind.FOREIGN_COMMIT, refused.kind());
    for (String word : words) {
      assertTrue(refused.getMessage().contains(word), refused.getMessage());
    }
  }

  @Test
  void commitsOfKeylakeAreKnownAndSaySo() {
    memory.commit("1 a @10");
    memory.commit("1 a @20");
    assertEquals(Lineage.NONE, table.currentSnapshot().summary().get(Lineage.FOREIGN_COMMITS));
    Lineage lineage = Lineage.of(table, memory.head());
    assertTrue(lineage.isKnown());
    assertEquals(memory.head(), lineage.oldest().snapshotId(), "the walk ends at the first");
    assertTrue(Lineage.of(table, null).isKnown());
  }

  @Test
  void aForeignAppendIsNamedWithTheWaysBack() {
    memory.commit("1 a @10");
    long good = memory.head();
    Snapshot foreign = append("foreign");
    assertRefused(
        "commit " + foreign.snapshotId(),
        "(append)",
        "Apache Iceberg",
        "roll back to commit " + good,
        "adopt_commit with snapshot_id " + foreign.snapshotId());
    Snapshot second = append("foreign2");
    assertRefused("commit " + second.snapshotId(), "roll back to commit " + good);
    assertThrows(KeylakeException.class, () -> memory.commit("2 a @30"), "nor is it written to");
    new Commits(table).make(new Rollback(null, good));
    memory.commit("2 a @30");
    assertTrue(Lineage.of(table, memory.head()).isKnown());
  }

  @Test
  void aRewriteOfFilesCanOnlyBeRolledBack() {
    memory.commit("1 a @10");
    long good = memory.head();
    DataFile written = FileListing.ofAll(table).at(good).get(0).file();
    table.newRewrite().deleteFile(written).addFile(plain("rewritten")).commit();
    table.refresh();
    assertRefused("(replace)", "roll back to commit " + good);
    KeylakeException refused =
        assertThrows(
            KeylakeException.class, () -> Adoption.of(table, null, memory.head()), "not adopted");
    assertTrue(refused.getMessage().contains("roll back to commit " + good));
  }

  @Test
  void commitsThatChangeNoFileAreHarmless() {
    memory.commit("1 a @10");
    memory.commit("1 a @20");
    table.updateProperties().set("team", "growth").commit();
    rewriteManifests();
    assertDoesNotThrow(() -> Lineage.check(table, memory.head()));
    memory.commit("1 a @30");
    table.newAppend().commit();
    table.refresh();
    assertDoesNotThrow(() -> Lineage.check(table, memory.head()));
    expireAllButTheHead();
    assertDoesNotThrow(() -> CommitRange.of(table, memory.head(), memory.head()));
  }

  @Test
  void aForeignFileIsNoticedAfterItsCommitHasExpired() {
    memory.commit("1 a @10");
    append("foreign");
    rewriteManifests();
    expireAllButTheHead();
    assertFalse(Lineage.of(table, memory.head()).isProven());
    assertRefused("file ", "was not written by keylake", "has expired");
    Adoption adoption = Adoption.of(table, null, memory.head());
    assertTrue(adoption.isLast());
  }

  @Test
  void filesOfKeylakeAreKnownByTheirNamesWhereCommitsHaveExpired() {
    String name = "00000-6-c4c84282-2eb3-465b-a3ba-2efc403b8bb9-00001.parquet";
    String merged = "00000-29-compact-part-c9ee605c-a7ef-4746-bc5d-e4fbc9c86162-00001.parquet";
    new Commits(table)
        .make(
            new Append(
                null,
                List.of(
                    memory.file("data/" + name, memory.stored("1 a @10")),
                    memory.file("data/" + merged, memory.stored("2 a @10"))),
                WriteSummaries.of("update")));
    rewriteManifests();
    expireAllButTheHead();
    assertFalse(Lineage.of(table, memory.head()).isProven());
    assertDoesNotThrow(() -> Lineage.check(table, memory.head()));
    String stock = "00000-23-f2fb2a40-48d4-4b19-bb31-76bd131b9b0f-0-00001.parquet";
    table.newAppend().appendFile(memory.file("data/" + stock, memory.stored("3 a @10"))).commit();
    rewriteManifests();
    expireAllButTheHead();
    assertRefused(stock);
  }

  @Test
  void aTableThatWasWrittenBeforeCommitsSaidItIsWalked() {
    table
        .newAppend()
        .appendFile(memory.file("1", memory.stored("1 a @10")))
        .set(WriteSummary.VERB, "update")
        .commit();
    table
        .newAppend()
        .appendFile(memory.file("2", memory.stored("1 a @20")))
        .set(WriteSummary.VERB, "update")
        .commit();
    table.refresh();
    assertTrue(Lineage.of(table, memory.head()).isKnown());
    append("foreign");
    table
        .newAppend()
        .appendFile(memory.file("3", memory.stored("1 a @20")))
        .set(WriteSummary.VERB, "update")
        .commit();
    table.refresh();
    assertRefused("(append)", "adopt");
  }

  @Test
  void anAdoptionPutsFilesInThePlaceOfForeignOnes() {
    memory.commit("1 a @10");
    long before = memory.head();
    Snapshot one = append("foreign1");
    Snapshot two = append("foreign2");
    assertThrows(KeylakeException.class, () -> Adoption.of(table, null, before));
    Adoption first = Adoption.of(table, null, one.snapshotId());
    assertEquals(1, first.files().size());
    assertFalse(first.isLast());
    assertTrue(isAdopted(first, List.of(memory.file("a1", memory.stored("2 a @20")))));
    table.refresh();
    assertRefused("commit " + two.snapshotId());
    Adoption second = Adoption.of(table, null, two.snapshotId());
    assertTrue(second.isLast());
    assertTrue(isAdopted(second, List.of(memory.file("a2", memory.stored("3 a @20")))));
    table.refresh();
    assertTrue(Lineage.of(table, memory.head()).isKnown());
    CommitRange range = CommitRange.of(table, before, memory.head());
    assertEquals(2, range.commits().size(), "the foreign commits are none of its writes");
    assertEquals(
        Set.of("a1", "a2"),
        Set.copyOf(
            FileListing.ofAll(table).writtenIn(range).stream()
                .map(task -> task.file().location())
                .toList()));
    assertFalse(isAdopted(second, List.of()), "once");
  }

  @Test
  void aForeignFileIsNoticedBehindAnAdoptionWhenItsCommitHasExpired() {
    memory.commit("1 a @10");
    append("foreign1");
    Snapshot two = append("foreign2");
    Adoption adoption = Adoption.of(table, null, two.snapshotId());
    assertTrue(isAdopted(adoption, List.of(memory.file("a2", memory.stored("3 a @20")))));
    expireAllButTheHead();
    assertRefused("was not written by keylake", "has expired");
  }

  private boolean isAdopted(Adoption adoption, List<DataFile> files) {
    AdoptionChange change = new AdoptionChange(adoption, files, WriteSummaries.of("upsert"));
    return new Commits(table).make(change).isCommitted();
  }
}
