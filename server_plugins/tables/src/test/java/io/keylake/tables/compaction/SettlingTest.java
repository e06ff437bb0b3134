package io.keylake.tables.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.Settled;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.planning.ReadPlan;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.repair.FileChange;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.junit.jupiter.api.Test;

/** What settling leaves behind in the table, and what plans make of it. No file is opened here. */
class SettlingTest {
  private static MemoryTable twoRuns() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,2,3,4 a @10");
    table.commit("2,3 a @20");
    return table;
  }

  private static CompactionPlan plan(MemoryTable table) {
    table.table.refresh();
    return new CompactionPlanner(table.table, null, CompactionPolicy.SETTLE, Instant.now()).plan();
  }

  /** As if two rows of the oldest file were found to be superseded. */
  private static SettledBuckets found(MemoryTable table, CompactionPlan plan, boolean isUnique) {
    List<SettledBuckets.SettledBucket> found =
        plan.settlements().stream()
            .map(
                settlement ->
                    new SettledBuckets.SettledBucket(
                        settlement, Map.of("1.1", deletes(table, oldest(settlement))), isUnique))
            .toList();
    return SettledBuckets.of(plan, found);
  }

  private static DataFile oldest(Settlement settlement) {
    return settlement.byLocation().get("1.1").file();
  }

  private static DeleteFile deletes(MemoryTable table, DataFile of) {
    String name = "00000-0-" + Settled.operation("x") + "-" + of.location() + ".parquet";
    return table.deletions(name, of, Set.of(1, 2));
  }

  private static ReadPlan read(MemoryTable table, boolean isOrdered) {
    table.table.refresh();
    Set<Integer> all = Set.of(table.schema.table().findField("a").fieldId());
    ReadSpec readSpec = ReadSpec.ofColumns(table.head(), all, Wanted.ROWS);
    return new ReadPlanner(table.table, table.schema, isOrdered ? readSpec : readSpec.unordered())
        .plan();
  }

  private static List<Boolean> passedThrough(ReadPlan plan) {
    return plan.buckets().stream()
        .flatMap(bucket -> bucket.sections().stream())
        .map(SectionPlan::passedThrough)
        .toList();
  }

  private static String summary(MemoryTable table, String name) {
    table.table.refresh();
    return table.table.currentSnapshot().summary().get(name);
  }

  private static boolean isMade(MemoryTable table, Change change) {
    return new Commits(table.table).make(change).isCommitted();
  }

  @Test
  void runsOfASettledSectionAreReadApart() {
    MemoryTable table = twoRuns();
    assertEquals(List.of(false), passedThrough(read(table, false)));
    CompactionPlan plan = plan(table);
    assertEquals(1, plan.settlements().size());
    assertEquals(List.of(), plan.compactions());
    assertTrue(isMade(table, new SettlementChange(null, found(table, plan, true))));
    assertEquals(List.of(true, true), passedThrough(read(table, false)));
    assertEquals(OptionalLong.of(4), read(table, false).rowCount(merged -> OptionalLong.empty()));
    assertEquals(List.of(false), passedThrough(read(table, true)), "an order takes a merge");
    assertEquals("safe", summary(table, WriteSummary.PLAIN_READS));
    assertEquals(List.of(), plan(table).settlements());
  }

  @Test
  void whatComesLaterIsNotSettled() {
    MemoryTable table = twoRuns();
    assertTrue(isMade(table, new SettlementChange(null, found(table, plan(table), true))));
    table.commit("3 a @30");
    assertEquals(List.of(false), passedThrough(read(table, false)));
    assertEquals("unmerged", summary(table, WriteSummary.PLAIN_READS));
    table.commit("9 a @30");
    assertEquals(List.of(false, true), passedThrough(read(table, false)));
    CompactionPlan again = plan(table);
    assertEquals(3, again.settlements().get(0).inputs().size());
    assertEquals(1, found(table, again, true).replaced().size(), "what said so before goes");
  }

  @Test
  void aCommitOfAnotherEngineSettlesNothing() {
    MemoryTable table = twoRuns();
    assertTrue(isMade(table, new SettlementChange(null, found(table, plan(table), true))));
    table.table.rewriteManifests().clusterBy(file -> 0).commit();
    assertEquals(List.of(false), passedThrough(read(table, false)), "right, and merged as ever");
  }

  @Test
  void aBucketWhoseKeysHaveSeveralRowsIsMergedAsEver() {
    MemoryTable table = twoRuns();
    assertTrue(isMade(table, new SettlementChange(null, found(table, plan(table), false))));
    assertEquals(List.of(false), passedThrough(read(table, false)));
    assertEquals("unmerged", summary(table, WriteSummary.PLAIN_READS));
    assertEquals("[\"[0]\"]", summary(table, Settled.EXCEPT));
  }

  @Test
  void aMergeOfAllRunsReadsAllRowsAndOneOfSomeDoesNot() {
    MemoryTable table = twoRuns();
    table.commit("2 a @15");
    assertTrue(isMade(table, new SettlementChange(null, found(table, plan(table), true))));
    Compaction all = compaction(table, CompactionPolicy.FULL);
    assertEquals(List.of(4L, 1L, 2L), liveRows(all));
    assertEquals(1, all.superseded().size(), "it goes with its file");
    CompactionPolicy oldest =
        new CompactionPolicy(2, 2, 2, Long.MAX_VALUE, 0.0, 0.0, null, 600, 600, null, 0);
    Compaction some = compaction(table, oldest);
    assertEquals(List.of(2L, 2L), liveRows(some), "what the third supersedes is not told anew");
    assertEquals(List.of("compact-x", "compact-part-x"), names(all, some), "and files say so");
  }

  private static List<String> names(Compaction... compactions) {
    return Arrays.stream(compactions).map(each -> each.operation("x")).toList();
  }

  private static Compaction compaction(MemoryTable table, CompactionPolicy policy) {
    table.table.refresh();
    return new CompactionPlanner(table.table, null, policy, Instant.now())
        .plan()
        .compactions()
        .get(0);
  }

  private static List<Long> liveRows(Compaction compaction) {
    return compaction.stretches().stream()
        .flatMap(bucket -> bucket.sections().stream())
        .flatMap(section -> section.runs().stream())
        .flatMap(List::stream)
        .map(SectionPlan.StoredFile::liveRows)
        .toList();
  }

  @Test
  void aMergeIsLostToASettlementThatCameMeanwhile() {
    MemoryTable table = twoRuns();
    Compaction planned = compaction(table, CompactionPolicy.FULL);
    assertTrue(isMade(table, new SettlementChange(null, found(table, plan(table), true))));
    assertFalse(isMade(table, new CompactionChange(null, planned, List.of(merged(table)))));
    assertTrue(
        isMade(
            table,
            new CompactionChange(
                null, compaction(table, CompactionPolicy.FULL), List.of(merged(table)))));
    assertEquals(List.of(true), passedThrough(read(table, false)));
  }

  @Test
  void aSettlementIsLostToAMergeThatCameMeanwhile() {
    MemoryTable table = twoRuns();
    SettledBuckets found = found(table, plan(table), true);
    assertTrue(
        isMade(
            table,
            new CompactionChange(
                null, compaction(table, CompactionPolicy.FULL), List.of(merged(table)))));
    assertFalse(isMade(table, new SettlementChange(null, found)));
  }

  @Test
  void aSettlementIsLostToADropThatCameMeanwhile() {
    MemoryTable table = twoRuns();
    SettledBuckets found = found(table, plan(table), true);
    assertTrue(FileChange.drop(table.table, null, Set.of("2.1")).commit());
    assertFalse(
        isMade(table, new SettlementChange(null, found)), "what superseded the rows may be gone");
  }

  @Test
  void aMergeWithoutSupersededRowsIsLostToADropThatCameMeanwhile() {
    MemoryTable table = twoRuns();
    table.commit("2 a @15");
    assertTrue(isMade(table, new SettlementChange(null, found(table, plan(table), true))));
    CompactionPolicy oldest =
        new CompactionPolicy(2, 2, 2, Long.MAX_VALUE, 0.0, 0.0, null, 600, 600, null, 0);
    Compaction some = compaction(table, oldest);
    assertTrue(FileChange.drop(table.table, null, Set.of("3.1")).commit());
    assertFalse(isMade(table, new CompactionChange(null, some, List.of(merged(table)))));
  }

  @Test
  void aCommitMeanwhileIsNoHindrance() {
    MemoryTable table = twoRuns();
    SettledBuckets found = found(table, plan(table), true);
    table.commit("3 a @30");
    assertTrue(isMade(table, new SettlementChange(null, found)));
    assertEquals("unmerged", summary(table, WriteSummary.PLAIN_READS));
    assertEquals(List.of(false), passedThrough(read(table, false)));
  }

  @Test
  void aSnapshotThatWasRolledBackIsNotSettled() {
    MemoryTable table = twoRuns();
    long first = table.table.currentSnapshot().parentId();
    SettledBuckets found = found(table, plan(table), true);
    table.table.manageSnapshots().rollbackTo(first).commit();
    assertFalse(isMade(table, new SettlementChange(null, found)));
  }

  @Test
  void aSnapshotThatHasExpiredMeanwhileIsNotSettled() {
    MemoryTable table = twoRuns();
    CompactionPlan plan = plan(table);
    long planned = table.head();
    table.commit("3 a @30");
    table.table.expireSnapshots().expireSnapshotId(planned).commit();
    assertFalse(isMade(table, new SettlementChange(null, found(table, plan, true))));
  }

  private static DataFile merged(MemoryTable table) {
    return table.file("merged", table.stored("1,2,3,4 a @20"));
  }

  @Test
  void aSummaryIsNoPlaceForManyExceptions() {
    List<String> names = IntStream.range(0, 101).mapToObj(n -> "[" + n + "]").toList();
    Map<String, String> few = new Settled(7, Set.copyOf(names.subList(0, 2)), 1).properties();
    assertEquals(
        Map.of(Settled.THROUGH, "7", Settled.EXCEPT, "[\"[0]\",\"[1]\"]", Settled.EXCEPT_OF, "1"),
        new HashMap<>(few));
    assertEquals(Map.of(), new Settled(7, Set.copyOf(names), 1).properties());
    assertEquals(Map.of(), Settled.NOTHING.properties());
  }
}
