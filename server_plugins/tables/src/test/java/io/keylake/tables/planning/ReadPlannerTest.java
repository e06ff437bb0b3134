package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.Presence;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.planning.SectionPlan.DecidedColumns;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.planning.request.ReadSpec;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;

/**
 * Plans as text. A section is one line: its runs, oldest first; "pass" where it is passed through,
 * or what orders the runs; and for each run what is known of its writes, tombstones and columns:
 * A(lways), N(ever), or ? where it differs from row to row.
 */
class ReadPlannerTest {

  private static String plan(
      MemoryTable table, Wanted wanted, Expression filter, String... values) {
    Set<Integer> ids =
        Arrays.stream(values)
            .map(name -> table.schema.table().findField(name).fieldId())
            .collect(Collectors.toSet());
    ReadSpec readSpec = ReadSpec.ofColumns(table.head(), ids, wanted).where(filter);
    return new ReadPlanner(table.table, table.schema, readSpec)
        .plan().buckets().stream()
            .flatMap(bucket -> bucket.sections().stream())
            .map(section -> text(table, section))
            .collect(Collectors.joining("\n"));
  }

  private static String rows(MemoryTable table, String... values) {
    return plan(table, Wanted.ROWS, Expressions.alwaysTrue(), values);
  }

  private static String text(MemoryTable table, SectionPlan section) {
    String runs =
        section.runs().stream()
            .map(run -> run.stream().map(StoredFile::location).collect(Collectors.joining(" ")))
            .collect(Collectors.joining(", "));
    if (section.passedThrough()) {
      return runs + " | pass";
    }
    return "%s | %s | written %s | deleted %s%s"
        .formatted(
            runs,
            section.rules().order(),
            letters(section.rules().written()),
            letters(section.rules().deleted()),
            IntStream.range(0, section.classes().size())
                .mapToObj(
                    c ->
                        " | %s %s"
                            .formatted(
                                names(table, section.classes().get(c)),
                                letters(section.rules().classes().get(c).byRun())))
                .collect(Collectors.joining()));
  }

  private static String names(MemoryTable table, DecidedColumns columns) {
    return columns.values().stream()
        .map(id -> table.schema.table().findColumnName(id))
        .sorted()
        .collect(Collectors.joining(" "));
  }

  private static String letters(List<Presence> byRun) {
    return byRun.stream()
        .map(presence -> presence == Presence.PER_ROW ? "?" : presence.name().substring(0, 1))
        .collect(Collectors.joining());
  }

  @Test
  void anEmptyTableHasNoPlan() {
    MemoryTable table = MemoryTable.create("explicit");
    ReadSpec readSpec = ReadSpec.ofColumns(null, Set.of(), Wanted.ROWS);
    assertEquals(List.of(), new ReadPlanner(table.table, table.schema, readSpec).plan().buckets());
  }

  @Test
  void oneRunOfVisibleRowsIsPassedThrough() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,2 a b @5", "4 a @6; 5 delete @7; 5 b @8");
    table.commit("7,9 g @1");
    assertEquals("1.1 | pass\n1.2 | pass\n2.1 | pass", rows(table, "a", "b"));
    assertEquals("1.1 | pass\n1.2 | pass\n2.1 | pass", rows(table));
  }

  @Test
  void oneRunWithTombstonesIsNot() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,2 a @5; 3 delete @5");
    assertEquals("1.1 | RUN | written ? | deleted ? | a ?", rows(table, "a"));
  }

  @Test
  void stampsTakeMerging() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1 a b g@4 @5");
    for (Wanted wanted : List.of(Wanted.ROWS_AND_STAMPS, Wanted.HISTORY)) {
      assertEquals(
          "1.1 | RUN | written A | deleted N |  N |  N | a A |  A | c ? |  N",
          plan(table, wanted, Expressions.alwaysTrue(), "a", "c"));
    }
  }

  @Test
  void rangesOfVersionsApartAreMergedByRun() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,5 a b @10; 3 a b @12");
    table.commit("1,9 a @13; 3 a @20");
    assertEquals("1.1, 2.1 | RUN | written AA | deleted NN | a AA | b AN", rows(table, "a", "b"));
  }

  @Test
  void aLateCommitIsPutInItsPlace() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,5 a @10");
    table.commit("1,5 b @30");
    table.commit("1,5 a b @20");
    assertEquals(
        "1.1, 3.1, 2.1 | RUN | written AAA | deleted NNN | a AAN | b NAA", rows(table, "a", "b"));
  }

  @Test
  void rangesThatOverlapAreMergedByVersion() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1 a @10; 5 a @20");
    table.commit("1 a @15; 5 a @25");
    assertEquals("1.1, 2.1 | VERSION | written AA | deleted NN | a AA", rows(table, "a"));
  }

  @Test
  void rangesThatTouchAreApartInCommitOrderOnly() {
    MemoryTable inOrder = MemoryTable.create("explicit");
    inOrder.commit("1 a @10; 5 a @20");
    inOrder.commit("1 a @20; 5 a @25");
    assertEquals("1.1, 2.1 | RUN | written AA | deleted NN | a AA", rows(inOrder, "a"));
    MemoryTable late = MemoryTable.create("explicit");
    late.commit("1 a @20; 5 a @25");
    late.commit("1 a @10; 5 a @20");
    assertEquals("1.1, 2.1 | VERSION | written AA | deleted NN | a AA", rows(late, "a"));
  }

  @Test
  void aLateColumnMattersWhereItIsWanted() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,2 a b @10");
    table.commit("1,2 a@5 b @20");
    assertEquals("1.1, 2.1 | VERSION | written AA | deleted NN | a A?", rows(table, "a"));
    assertEquals("1.1, 2.1 | RUN | written AA | deleted NN | b AA", rows(table, "b"));
  }

  @Test
  void commitsAreTheirOwnOrder() {
    MemoryTable table = MemoryTable.create("commit");
    table.commit("1,5 a @100; 6 delete @100");
    table.commit("1,6 b @90");
    assertEquals("1.1, 2.1 | RUN | written ?A | deleted ?N | a ?N | b NA", rows(table, "a", "b"));
  }

  @Test
  void theOrderingColumnOrdersRuns() {
    MemoryTable table = MemoryTable.create("ordering");
    table.commit("1,5 t a @10");
    table.commit("1,5 t b @8");
    assertEquals(
        "2.1, 1.1 | RUN | written AA | deleted NN | t AA | a NA | b AN",
        rows(table, "t", "a", "b"));
  }

  @Test
  void columnsThatTheSameRunsCarryAreDecidedTogether() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,2 a b @10");
    table.commit("1,2 b g @20");
    table.commit("1 l @30; 2 d @30");
    assertEquals(
        "1.1, 2.1, 3.1 | RUN | written AAA | deleted NNN | l NN? | a ANN | b AAN | c e NAN | d NN?",
        rows(table, "a", "b", "c", "e", "d", "l"));
    table.commit("2 t a @40");
    assertTrue(rows(table, "t", "a").endsWith("| t NNNA | a ANNA"), rows(table, "t", "a"));
    MemoryTable alike = MemoryTable.create("explicit");
    alike.commit("1,2 a b @10");
    alike.commit("1,2 a b g @20");
    assertEquals(
        "1.1, 2.1 | RUN | written AA | deleted NN | a b AA | c NA", rows(alike, "a", "b", "c"));
  }

  @Test
  void noColumnWantedIsNoClass() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,5 a b @10");
    table.commit("1 a@3 @12; 5 delete @12");
    assertEquals("1.1, 2.1 | RUN | written A? | deleted N?", rows(table));
  }

  @Test
  void sectionsFollowEachOther() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,4 a @10", "8,9 a @10", "20,30 a @10");
    table.commit("3,8 b @20", "30,40 b @20");
    table.commit("50 b @20");
    assertEquals(
        """
        1.1 1.2, 2.1 | RUN | written AA | deleted NN | a AN
        1.3, 2.2 | RUN | written AA | deleted NN | a AN
        3.1 | pass\
        """,
        rows(table, "a"));
  }

  @Test
  void filtersOnTheKeyDropFiles() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,4 a @10", "8,9 a @10", "20,30 a @10");
    table.commit("3,8 b @20", "30,40 b @20");
    assertEquals(
        "1.3, 2.2 | RUN | written AA | deleted NN | a AN",
        plan(table, Wanted.ROWS, Expressions.greaterThan("k", 25L), "a"));
    assertEquals("1.1 | pass", plan(table, Wanted.ROWS, Expressions.equal("k", 2L), "a"));
    assertEquals("", plan(table, Wanted.ROWS, Expressions.equal("k", 45L), "a"));
  }

  @Test
  void oneKeyIsInOneBucket() {
    MemoryTable table = MemoryTable.create("explicit", List.of("k"), 8, Set.of());
    table.commit(IntStream.range(0, 100).mapToObj(key -> key + " a @5").toArray(String[]::new));
    ReadSpec all = ReadSpec.ofColumns(table.head(), Set.of(), Wanted.ROWS);
    List<BucketPlan> buckets = new ReadPlanner(table.table, table.schema, all).plan().buckets();
    assertEquals(8, buckets.size());
    assertEquals(100, buckets.stream().mapToLong(BucketPlan::rows).sum());
    assertEquals(10_000, buckets.stream().mapToLong(BucketPlan::bytes).sum());
    ReadSpec one = all.where(Expressions.equal("k", 34L));
    List<BucketPlan> found = new ReadPlanner(table.table, table.schema, one).plan().buckets();
    assertEquals(1, found.size());
    assertEquals(1, found.get(0).rows());
    assertEquals(379 % 8, found.get(0).partition().get(0));
  }

  @Test
  void anOlderSnapshotIsPlannedAsItWas() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,4 a @10");
    long before = table.head();
    table.commit("1,4 delete @20");
    ReadSpec readSpec = ReadSpec.ofColumns(before, Set.of(), Wanted.ROWS);
    List<BucketPlan> plans = new ReadPlanner(table.table, table.schema, readSpec).plan().buckets();
    assertEquals("1.1 | pass", text(table, plans.get(0).sections().get(0)));
  }

  @Test
  void runsThatDoNotCompeteNeedNoVersions() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1 a @10; 4 a @30");
    table.commit("1 b @20; 4 b @40");
    assertEquals("1.1, 2.1 | RUN | written AA | deleted NN", shapes(rows(table)));
    assertEquals("1.1, 2.1 | RUN | written AA | deleted NN", shapes(rows(table, "a", "b")));
    table.commit("1 a @30; 4 a @50");
    assertTrue(rows(table, "a", "b").startsWith("1.1, 2.1, 3.1 | RUN"));
    table.commit("1 b @35; 4 b @35");
    assertTrue(rows(table, "b").contains("| VERSION |"));
    assertTrue(rows(table, "a").contains("| RUN |"));
    table.commit("1 delete @25");
    assertTrue(rows(table, "a").contains("| VERSION |"), "a deletion competes with every column");
    assertTrue(rows(table).contains("| VERSION |"), "and with the rows");
  }

  /** Runs, order and the presence of whole rows. */
  private static String shapes(String plan) {
    return plan.replaceAll("(deleted [A-Z?]+).*", "$1");
  }

  @Test
  void whatIsReadOfASection() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,4 a @10");
    table.commit("1,4 b @20");
    table.commit("2,3 a@1 @30");
    ReadSpec readSpec = ReadSpec.ofColumns(table.head(), ids(table, "a", "b"), Wanted.ROWS);
    SectionPlan section =
        new ReadPlanner(table.table, table.schema, readSpec)
            .plan()
            .buckets()
            .get(0)
            .sections()
            .get(0);
    assertTrue(section.readsVersions());
    assertEquals(
        List.of(true, false, true),
        IntStream.range(0, 3).mapToObj(run -> section.carries(run, 0)).toList());
    assertEquals(6, section.rows());
    assertEquals(600, section.bytes());
  }

  private static Set<Integer> ids(MemoryTable table, String... names) {
    return Arrays.stream(names)
        .map(name -> table.schema.table().findField(name))
        .map(NestedField::fieldId)
        .collect(Collectors.toSet());
  }

  private static void assertForeign(MemoryTable table) {
    table.table.refresh();
    KeylakeException refused = assertThrows(KeylakeException.class, () -> rows(table, "a"));
    assertEquals(KeylakeException.Kind.FOREIGN_COMMIT, refused.kind());
  }

  @Test
  void filesThatAreNotSortedByKeyAreRefused() {
    MemoryTable table = MemoryTable.create("explicit");
    table
        .table
        .newAppend()
        .appendFile(
            DataFiles.builder(table.table.spec())
                .withPath("foreign")
                .withFormat("parquet")
                .withFileSizeInBytes(10)
                .withRecordCount(1)
                .withPartitionPath("k_bucket=0")
                .build())
        .commit();
    assertForeign(table);
  }

  @Test
  void deletesOfOthersAreRefused() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,4 a @10");
    table
        .table
        .newRowDelta()
        .addDeletes(
            FileMetadata.deleteFileBuilder(table.table.spec())
                .ofPositionDeletes()
                .withPath("deletes")
                .withFormat("parquet")
                .withFileSizeInBytes(10)
                .withRecordCount(1)
                .withPartitionPath("k_bucket=0")
                .build())
        .commit();
    assertForeign(table);
  }

  @Test
  void partitionSpecsOfOthersAreRefused() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,4 a @10");
    table.table.updateSpec().removeField("k_bucket").addField(Expressions.bucket("k", 2)).commit();
    table
        .table
        .newAppend()
        .appendFile(
            DataFiles.builder(table.table.spec())
                .withPath("other")
                .withFormat("parquet")
                .withFileSizeInBytes(10)
                .withRecordCount(1)
                .withPartitionPath("k_bucket_2=0")
                .withSortOrder(table.table.sortOrder())
                .build())
        .commit();
    assertForeign(table);
  }
}
