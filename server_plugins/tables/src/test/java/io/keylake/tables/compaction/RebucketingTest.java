package io.keylake.tables.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketChange;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.Settled;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.planning.ReadPlan;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.junit.jupiter.api.Test;

/**
 * Tables whose bucket count has changed. Of two buckets, keys 1 and 3 lie in bucket 0 and keys 2
 * and 4 in bucket 1; each file is named by its commit and its place in it.
 */
class RebucketingTest {
  private static final List<String> ONE_COLUMN = List.of("k");
  private static final List<String> COMPOUND = List.of("k", "l");

  private static MemoryTable table(List<String> key, int buckets) {
    return MemoryTable.create("explicit", key, buckets, Set.of());
  }

  /** A file for each of some keys, so that each lies in its bucket. */
  private static void commitKeys(MemoryTable table, int... keys) {
    String[] files = new String[keys.length];
    for (int i = 0; i < keys.length; i++) {
      files[i] = keys[i] + " a @" + keys[i];
    }
    table.commit(files);
  }

  private static ReadPlan plan(MemoryTable table, boolean isOrdered) {
    ReadSpec readSpec = ReadSpec.ofColumns(table.head(), Set.of(), Wanted.ROWS);
    return new ReadPlanner(table.table, table.schema, isOrdered ? readSpec : readSpec.unordered())
        .plan();
  }

  private static CompactionPlan compactionPlan(MemoryTable table) {
    table.table.refresh();
    CompactionPolicy policy = CompactionPolicy.DEFAULT.onlyRebucketing();
    return new CompactionPlanner(table.table, null, policy, Instant.EPOCH).plan();
  }

  private static Set<String> locations(List<DataFile> files) {
    return files.stream().map(DataFile::location).collect(Collectors.toSet());
  }

  @Test
  void anotherCountIsAnotherPartitionSpec() {
    for (List<String> key : List.of(ONE_COLUMN, COMPOUND)) {
      MemoryTable table = table(key, 2);
      table.changeBuckets(4);
      table.changeBuckets(12);
      assertEquals(List.of(2, 4, 12), List.copyOf(BucketCounts.of(table.table).all()));
      String name = key == ONE_COLUMN ? "k_bucket_12" : "_bucket_12";
      PartitionSpec spec = table.table.spec();
      assertEquals(List.of(name), spec.fields().stream().map(field -> field.name()).toList());
      assertEquals(spec, BucketCounts.of(table.table).spec(12));
      assertEquals(12, KeyedSchema.of(table.table).spec().buckets());
    }
  }

  @Test
  void aCountThatIsNoMultipleIsRefused() {
    MemoryTable table = table(ONE_COLUMN, 4);
    for (long wanted : List.of(4L, 2L, 0L, 6L, 4_000_000L)) {
      String said =
          assertThrows(KeylakeException.class, () -> BucketChange.make(table.table, wanted))
              .getMessage();
      assertTrue(said.contains(String.valueOf(wanted)), said);
    }
    assertEquals(List.of(4), List.copyOf(BucketCounts.of(table.table).all()));
  }

  @Test
  void aBucketIsMadeOfWholeBucketsOfMore() {
    assertEquals(List.of(1, 3, 5), BucketCounts.fine(1, 2, 6));
    assertEquals(List.of(1), BucketCounts.fine(1, 2, 2));
    for (int bucket = 0; bucket < 2; bucket++) {
      for (int fine : BucketCounts.fine(bucket, 2, 6)) {
        assertEquals(bucket, BucketCounts.coarse(fine, 2));
      }
    }
  }

  @Test
  void aSnapshotIsReadByTheCoarsestCountOfItsFiles() {
    for (List<String> key : List.of(ONE_COLUMN, COMPOUND)) {
      MemoryTable table = table(key, 1);
      table.commit("1,2,3,4 a @1");
      table.changeBuckets(8);
      commitKeys(table, 1, 2, 3, 4);
      ReadPlan plan = plan(table, true);
      assertEquals(1, plan.bucketCount());
      assertEquals(1, plan.buckets().size(), "old and new files of a key are read together");
      assertEquals(List.of(0), plan.buckets().get(0).partition());
    }
  }

  @Test
  void whatIsOfMoreBucketsOnlyIsReadApartWhereNoOrderIsWanted() {
    MemoryTable table = table(ONE_COLUMN, 1);
    table.commit("1 a @1");
    table.changeBuckets(2);
    commitKeys(table, 1, 2);
    assertEquals(1, plan(table, false).buckets().size());
    Compaction move = compactionPlan(table).compactions().get(0);
    assertEquals(List.of("1.1"), List.copyOf(locations(move.inputs())));
    assertTrue(
        isMade(
            table,
            new CompactionChange(
                null, move, List.of(table.file("moved", table.stored("1 a @1"))))));
    table.table.refresh();
    assertEquals(2, plan(table, true).bucketCount());
    assertEquals(List.of(), compactionPlan(table).compactions());
  }

  private static boolean isMade(MemoryTable table, Change change) {
    return new Commits(table.table).make(change).isCommitted();
  }

  @Test
  void theMoveKeepsThePlaceInTheOrderOfCommits() {
    MemoryTable table = table(ONE_COLUMN, 1);
    table.commit("1 a @1");
    table.commit("1 b @1");
    table.changeBuckets(2);
    table.commit("1 a @1");
    Compaction move = compactionPlan(table).compactions().get(0);
    assertEquals(Set.of("1.1", "2.1"), locations(move.inputs()));
    assertEquals(2, move.age());
    assertEquals(1, move.of());
    assertEquals(
        List.of(List.of("1.1"), List.of("2.1")),
        move.stretches().get(0).sections().get(0).runs().stream()
            .map(run -> run.stream().map(StoredFile::location).toList())
            .toList());
  }

  @Test
  void aLateFileOfFewerBucketsIsDividedByItself() {
    MemoryTable table = table(ONE_COLUMN, 1);
    DataFile late = table.file("late", table.stored("1,2 a @9"));
    table.changeBuckets(2);
    commitKeys(table, 1, 2);
    assertTrue(isMade(table, new Append(null, List.of(late), WriteSummaries.of("update"))));
    table.table.refresh();
    assertEquals(1, plan(table, true).bucketCount());
    List<Compaction> moves = compactionPlan(table).compactions();
    assertEquals(List.of(Set.of("late")), moves.stream().map(m -> locations(m.inputs())).toList());
  }

  @Test
  void exceptionsAmongOtherBucketsDoNotTell() {
    Settled some = new Settled(7, Set.of("[0]"), 2);
    assertEquals(some, some.among(2));
    assertEquals(Settled.NOTHING, some.among(4));
    Settled all = new Settled(7, Set.of(), 2);
    assertEquals(all, all.among(4));
  }

  @Test
  void moreBucketsAreRecommendedWhereOneIsTooLarge() {
    MemoryTable table = table(ONE_COLUMN, 1);
    assertEquals(1, BucketAdvice.of(table.table, null).recommended());
    table
        .table
        .updateProperties()
        .set(CompactionPolicy.PROPERTY, "{\"target_file_bytes\": 300}")
        .commit();
    table.commit("1,2 a @1"); // 100 bytes a row
    assertEquals(1, BucketAdvice.of(table.table, null).recommended());
    table.commit("3,4,5,6 a @1"); // of 600 bytes 400 are new, so 1000 are expected
    BucketAdvice advice = BucketAdvice.of(table.table, null);
    assertEquals(4, advice.recommended(), advice.reason());
    assertFalse(advice.reason().isBlank());
  }
}
