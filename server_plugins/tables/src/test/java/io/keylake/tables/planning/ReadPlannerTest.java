package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.Presence;
import io.keylake.merge.TextCases;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.planning.SectionPlan.DecidedColumns;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.planning.request.ReadSpec;
import java.util.ArrayList;
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

/** The plans of {@code tests/cases/planning/reads.txt}, and what has no place in a text. */
class ReadPlannerTest {

  @Test
  void everyCaseIsPlannedAsItSays() {
    TextCases.check("planning", "reads.txt", ReadPlannerTest::answer);
  }

  private static List<String> answer(List<String> input) {
    MemoryTable table = MemoryTable.create(after("table:", input.get(0)));
    List<String> lines = new ArrayList<>();
    for (String line : input.subList(1, input.size())) {
      if (line.startsWith("read:")) {
        lines.add(line);
        lines.addAll(plan(table, after("read:", line)));
      } else {
        table.commit(after("commit:", line).split(" \\| "));
      }
    }
    return lines;
  }

  private static String after(String word, String line) {
    assertTrue(line.startsWith(word), line);
    return line.substring(word.length()).trim();
  }

  /** The plan of a read such as "a b, history, k > 25", of which only columns are needed. */
  private static List<String> plan(MemoryTable table, String read) {
    Wanted wanted = Wanted.ROWS;
    Expression filter = Expressions.alwaysTrue();
    List<String> words = List.of(read.split(", ", -1));
    for (String word : words.subList(1, words.size())) {
      String[] parts = word.split(" ");
      switch (parts[0]) {
        case "stamps" -> wanted = Wanted.ROWS_AND_STAMPS;
        case "history" -> wanted = Wanted.HISTORY;
        case "tombstones" -> wanted = Wanted.ROWS_AND_TOMBSTONES;
        default -> {
          long bound = Long.parseLong(parts[2]);
          filter =
              parts[1].equals("=")
                  ? Expressions.equal(parts[0], bound)
                  : Expressions.greaterThan(parts[0], bound);
        }
      }
    }
    Set<Integer> ids = ids(table, words.get(0).isEmpty() ? new String[0] : words.get(0).split(" "));
    List<String> lines = plan(table, ReadSpec.ofColumns(table.head(), ids, wanted).where(filter));
    return lines.isEmpty() ? List.of("nothing") : lines;
  }

  private static List<String> plan(MemoryTable table, ReadSpec readSpec) {
    return new ReadPlanner(table.table, table.schema, readSpec)
        .plan().buckets().stream()
            .flatMap(bucket -> bucket.sections().stream())
            .map(section -> text(table, section))
            .toList();
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
    return columns.values().isEmpty()
        ? "no value"
        : columns.values().stream()
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
    KeylakeException refused = assertThrows(KeylakeException.class, () -> plan(table, "a"));
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
