package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.StoredRow;
import io.keylake.tables.planning.PlannedRead.Answer;
import io.keylake.tables.planning.ReadPlan.Extreme;
import io.keylake.tables.planning.ReadPlan.KeyValue;
import io.keylake.tables.planning.ReadPlan.Spread;
import io.keylake.tables.planning.RowGroups.RowGroup;
import io.keylake.tables.planning.request.ReadScope;
import io.keylake.tables.planning.request.ReadSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Whatever a plan leaves out or answers by itself, compared on random tables with the law applied
 * to all that was written.
 */
class ReadPlanRandomTest {
  private static final int TABLES = 40;
  private static final List<String> VALUES = List.of("t", "a", "b", "c", "d", "e");
  private static final List<Filled> FILLED = new ArrayList<>();

  private final Random random = new Random(1);
  private MemoryTable table;
  private List<StoredRow> rows;

  /** How often the plan had something to say, so that no test passes by keeping quiet. */
  private int times;

  /** A table, and the rows that a read of it gives. */
  private record Filled(MemoryTable table, List<StoredRow> rows) {}

  @BeforeAll
  static void fill() {
    for (int number = 0; number < TABLES; number++) {
      Random random = new Random(number);
      String versions = List.of("explicit", "ordering", "commit").get(number % 3);
      List<String> key = random.nextInt(3) == 0 ? List.of("k", "l") : List.of("k");
      Set<String> unknown =
          random.nextInt(4) > 0
              ? Set.of()
              : List.of("k", "a", "_merge_info.written", "_merge_info.columns.b").stream()
                  .filter(name -> random.nextBoolean())
                  .collect(Collectors.toSet());
      MemoryTable table = MemoryTable.create(versions, key, 1 + random.nextInt(2), unknown);
      List<StoredRow> rows = RandomWrites.commit(random, table, versions);
      FILLED.add(new Filled(table, rows.stream().filter(StoredRow::isVisible).toList()));
    }
  }

  private String use(int number) {
    table = FILLED.get(number).table();
    rows = FILLED.get(number).rows();
    return "table " + number;
  }

  private ReadSpec readSpec(Expression valueFilter) {
    Set<Integer> ids =
        VALUES.stream()
            .map(name -> table.schema.table().findField(name).fieldId())
            .collect(Collectors.toSet());
    return new ReadSpec(
        ReadScope.ofSnapshot(table.head()),
        Expressions.alwaysTrue(),
        valueFilter,
        ids,
        Wanted.ROWS,
        true);
  }

  private ReadPlan plan(ReadSpec readSpec) {
    return new ReadPlanner(table.table, table.schema, readSpec).plan();
  }

  private static long sections(ReadPlan plan) {
    return plan.buckets().stream().mapToLong(bucket -> bucket.sections().size()).sum();
  }

  private List<Answer> all() {
    return rows.stream().map(row -> Answer.of(table, row, VALUES, false)).toList();
  }

  // ---------------------------------------------------------------------------- value filters

  /** A filter, and what it says of the values of a row: yes, no, or (null) neither. */
  private record Filter(Expression expression, Function<Map<String, Long>, Boolean> says) {
    boolean keeps(Answer row) {
      return Boolean.TRUE.equals(says.apply(row.values()));
    }

    Filter and(Filter other) {
      return new Filter(
          Expressions.and(expression, other.expression),
          row -> {
            Boolean one = says.apply(row);
            Boolean two = other.says.apply(row);
            return Boolean.FALSE.equals(one) || Boolean.FALSE.equals(two)
                ? Boolean.FALSE
                : one == null || two == null ? null : Boolean.TRUE;
          });
    }

    Filter not() {
      return new Filter(
          Expressions.not(expression),
          row -> says.apply(row) == null ? null : Boolean.valueOf(!says.apply(row)));
    }
  }

  private Filter filter(int depth) {
    int kind = random.nextInt(depth > 2 ? 6 : 9);
    String column = VALUES.get(random.nextInt(VALUES.size()));
    long literal = random.nextInt(1100) - 50;
    return switch (kind) {
      case 0 -> test(column, Expressions.lessThan(column, literal), value -> value < literal);
      case 1 -> test(column, Expressions.greaterThan(column, literal), value -> value > literal);
      case 2 -> test(column, Expressions.equal(column, literal), value -> value == literal);
      case 3 ->
          test(
              column,
              Expressions.in(column, literal, literal + 1),
              value -> value == literal || value == literal + 1);
      case 4 -> new Filter(Expressions.isNull(column), row -> row.get(column) == null);
      case 5 -> new Filter(Expressions.notNull(column), row -> row.get(column) != null);
      case 6 -> filter(depth + 1).not();
      case 7 -> filter(depth + 1).and(filter(depth + 1));
      default -> {
        Filter one = filter(depth + 1);
        Filter two = filter(depth + 1);
        Filter either = one.not().and(two.not()).not();
        yield new Filter(Expressions.or(one.expression(), two.expression()), either.says());
      }
    };
  }

  private static Filter test(
      String column, Expression expression, java.util.function.LongPredicate passes) {
    return new Filter(
        expression, row -> row.get(column) == null ? null : passes.test(row.get(column)));
  }

  @Test
  void noSectionWithAWantedRowIsLeftOut() throws IOException {
    for (int number = 0; number < TABLES; number++) {
      String name = use(number);
      for (int i = 0; i < 10; i++) {
        Filter filter = filter(0);
        ReadPlan plan = plan(readSpec(filter.expression()));
        List<Answer> read =
            new PlannedRead(table, readSpec(filter.expression()), plan.buckets())
                .answers().stream().filter(filter::keeps).toList();
        assertEquals(
            all().stream().filter(filter::keeps).toList(), read, name + ": " + filter.expression());
        times += sections(plan) < sections(plan(readSpec(Expressions.alwaysTrue()))) ? 1 : 0;
      }
    }
    assertTrue(times > 40, times + " plans left something out");
  }

  // ----------------------------------------------------------------- answers without reading

  @Test
  void aCountIsThatOfTheRows() {
    for (int number = 0; number < TABLES; number++) {
      String name = use(number);
      OptionalLong count =
          plan(readSpec(Expressions.alwaysTrue())).rowCount(merged -> OptionalLong.empty());
      if (count.isPresent()) {
        times++;
        assertEquals(rows.size(), count.getAsLong(), name);
      }
    }
    assertTrue(times > 3, times + " counts");
  }

  @Test
  void theSmallestAndTheLargestKey() {
    for (int number = 0; number < TABLES; number++) {
      String name = use(number);
      ReadPlan plan = plan(readSpec(Expressions.alwaysTrue()));
      TreeSet<Long> keys =
          rows.stream()
              .map(row -> row.key().first())
              .collect(Collectors.toCollection(TreeSet::new));
      Optional<KeyValue> smallest = plan.extreme("k", Extreme.SMALLEST);
      Optional<KeyValue> largest = plan.extreme("k", Extreme.LARGEST);
      assertEquals(smallest.isPresent(), largest.isPresent());
      if (smallest.isPresent()) {
        times++;
        assertEquals(keys.first(), smallest.get().value(), name);
        assertEquals(keys.last(), largest.get().value(), name);
      }
    }
    assertTrue(times > 10, times + " times");
  }

  @Test
  void anEmptyTableHasNoRowsAndNoSmallestKey() {
    MemoryTable empty = MemoryTable.create("explicit");
    ReadSpec nothing = ReadSpec.ofColumns(null, Set.of(), Wanted.ROWS);
    ReadPlan plan = new ReadPlanner(empty.table, empty.schema, nothing).plan();
    assertEquals(OptionalLong.of(0), plan.rowCount(merged -> OptionalLong.empty()));
    assertNull(plan.extreme("k", Extreme.SMALLEST).orElseThrow().value());
  }

  // ------------------------------------------------------------------------------------ limits

  @Test
  void aLimitedPlanHasEnoughRows() throws IOException {
    for (int number = 0; number < TABLES; number++) {
      String name = use(number);
      ReadSpec readSpec = readSpec(Expressions.alwaysTrue());
      int limit = 1 + random.nextInt(5);
      ReadPlan plan = plan(readSpec).limited(limit);
      List<Answer> read = new PlannedRead(table, readSpec, plan.buckets()).answers();
      assertTrue(read.size() >= Math.min(limit, rows.size()), name);
      assertTrue(all().containsAll(read), name);
      times += sections(plan) < sections(plan(readSpec)) ? 1 : 0;
    }
    assertTrue(times > 5, times + " plans left something out");
  }

  // ------------------------------------------------------------------------------------ slices

  @Test
  void aSpreadReadGivesTheSameRows() throws IOException {
    for (int number = 0; number < TABLES; number++) {
      String name = use(number);
      ReadSpec readSpec = readSpec(Expressions.alwaysTrue());
      List<BucketPlan> parts =
          plan(readSpec).spread(new Spread(100 + random.nextInt(1500), 1), this::groupsOfTwo);
      assertEquals(all(), new PlannedRead(table, readSpec, parts).answers(), name);
      times +=
          parts.stream()
                  .flatMap(part -> part.sections().stream())
                  .anyMatch(section -> section.slice() != null)
              ? 1
              : 0;
    }
    assertTrue(times > 20, times + " plans had slices");
  }

  private List<RowGroup> groupsOfTwo(SectionPlan.StoredFile file) {
    List<StoredRow> of = table.rows(file.location());
    List<RowGroup> groups = new ArrayList<>();
    for (int row = 0; row < of.size(); row += 2) {
      groups.add(new RowGroup(of.get(row).key().first(), Math.min(2, of.size() - row)));
    }
    return groups;
  }
}
