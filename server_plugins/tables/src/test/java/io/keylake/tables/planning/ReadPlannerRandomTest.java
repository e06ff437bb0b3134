package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.Key;
import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.StoredRow;
import io.keylake.tables.planning.PlannedRead.Answer;
import io.keylake.tables.planning.request.ReadSpec;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;

/**
 * Random tables, planned from their manifests alone and merged by the plan, compared with the law
 * applied to all that was written. A plan that knows too little is slow; one that believes too much
 * is wrong, and this test sees it.
 */
class ReadPlannerRandomTest {
  private static final int ROUNDS = 40;
  private static final List<String> STATISTICS =
      List.of(
          "k",
          "t",
          "_merge_info.version",
          "_merge_info.written",
          "_merge_info.deleted",
          "_merge_info.columns.a",
          "_merge_info.columns.g");

  /** A filter on the key, and what it means. */
  private record KeyFilter(Expression expression, Predicate<Key> keeps) {}

  /** How sections were planned, over all rounds. */
  private final Map<String, Integer> seen = new TreeMap<>();

  @Test
  void everyPlanGivesWhatTheLawSays() throws IOException {
    for (int round = 0; round < ROUNDS; round++) {
      Random random = new Random(round);
      String versions = List.of("explicit", "ordering", "commit").get(round % 3);
      check(random, versions, "round " + round + ", " + versions);
    }
    assertEquals(Set.of("pass", "RUN", "VERSION"), seen.keySet());
    assertTrue(seen.values().stream().allMatch(times -> times > 10), seen.toString());
  }

  private void check(Random random, String versions, String round) throws IOException {
    boolean isCompound = random.nextInt(3) == 0;
    MemoryTable table =
        MemoryTable.create(
            versions,
            isCompound ? List.of("k", "l") : List.of("k"),
            1 + random.nextInt(3),
            missingStatistics(random));
    List<StoredRow> history = RandomWrites.commit(random, table, versions);
    for (Wanted wanted : List.of(Wanted.ROWS, Wanted.ROWS_AND_STAMPS, Wanted.HISTORY)) {
      Set<String> columns = random.nextInt(4) == 0 ? allOf(table) : someOf(random, table);
      KeyFilter filter = filter(random);
      Set<Integer> ids =
          columns.stream()
              .map(name -> table.schema.table().findField(name).fieldId())
              .collect(Collectors.toSet());
      PlannedRead read =
          new PlannedRead(
              table, ReadSpec.ofColumns(table.head(), ids, wanted).where(filter.expression()));
      List<Answer> answers =
          read.answers().stream().filter(answer -> filter.keeps().test(answer.key())).toList();
      List<Answer> expected =
          history.stream()
              .filter(row -> filter.keeps().test(row.key()))
              .filter(row -> wanted == Wanted.HISTORY || row.isVisible())
              .map(row -> Answer.of(table, row, columns, wanted != Wanted.ROWS))
              .toList();
      assertEquals(expected, answers, round);
      read.sections().forEach(section -> seen.merge(kind(section), 1, Integer::sum));
    }
  }

  private static String kind(SectionPlan section) {
    return section.passedThrough() ? "pass" : section.rules().order().name();
  }

  private static Set<String> missingStatistics(Random random) {
    return random.nextInt(4) > 0
        ? Set.of()
        : STATISTICS.stream().filter(name -> random.nextBoolean()).collect(Collectors.toSet());
  }

  private static Set<String> allOf(MemoryTable table) {
    return table.schema.values().stream().map(NestedField::name).collect(Collectors.toSet());
  }

  private static Set<String> someOf(Random random, MemoryTable table) {
    return allOf(table).stream().filter(n -> random.nextInt(3) == 0).collect(Collectors.toSet());
  }

  private static KeyFilter filter(Random random) {
    long bound = random.nextInt(30);
    return switch (random.nextInt(4)) {
      case 0 -> new KeyFilter(Expressions.equal("k", bound), key -> key.first() == bound);
      case 1 -> new KeyFilter(Expressions.lessThan("k", bound), key -> key.first() < bound);
      default -> new KeyFilter(Expressions.alwaysTrue(), key -> true);
    };
  }
}
