package io.keylake.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeLaw;
import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.tables.PlannedRead.Answer;
import io.keylake.tables.ReadPlanner.Wish;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
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
  private static final List<String> LEAVES = List.of("l", "t", "a", "b", "g", "d");
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
    Clock clock = new Clock(random, versions);
    List<List<WrittenRow>> written = new ArrayList<>();
    int commits = 1 + random.nextInt(6);
    for (int commit = 1; commit <= commits; commit++) {
      clock.tick(commit);
      List<WrittenRow> rows = rows(random, clock, isCompound);
      written.add(rows);
      table.commitRows(files(random, table, rows));
    }
    List<StoredRow> history = MergeLaw.history(written, MemoryTable.SKIPPING_NULLS);
    for (Wanted wanted : Wanted.values()) {
      Set<String> columns = random.nextInt(4) == 0 ? allOf(table) : someOf(random, table);
      KeyFilter filter = filter(random);
      Set<Integer> ids =
          columns.stream()
              .map(name -> table.schema.table().findField(name).fieldId())
              .collect(Collectors.toSet());
      PlannedRead read =
          new PlannedRead(table, new Wish(table.head(), filter.expression(), ids, wanted));
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

  /** Where the versions of a commit come from: every table has its own habit. */
  private static final class Clock {
    private enum Habit {
      /** Commits come in turn, some of them late, and each has a range of versions. */
      LATE,
      /** A commit has two versions at most, which other commits have as well. */
      TOUCHING,
      /** As far apart as versions can be. */
      EXTREME
    }

    private final Random random;
    private final String versions;
    private final Habit habit;
    private long base;

    Clock(Random random, String versions) {
      this.random = random;
      this.versions = versions;
      this.habit = Habit.values()[random.nextInt(Habit.values().length)];
    }

    void tick(int commit) {
      if (versions.equals("commit")) {
        base = commit / 2;
      } else if (habit == Habit.TOUCHING) {
        base = 10 * random.nextInt(3);
      } else {
        base = commit * 10L - (random.nextInt(4) == 0 ? 25 : 0);
      }
    }

    long version() {
      if (versions.equals("commit")) {
        return base;
      }
      return switch (habit) {
        case LATE -> base + random.nextInt(12);
        case TOUCHING -> base + 10 * random.nextInt(2);
        case EXTREME ->
            random.nextInt(4) > 0
                ? base
                : random.nextBoolean() ? Long.MIN_VALUE + random.nextInt(2) : Long.MAX_VALUE;
      };
    }

    /** The version of a column that has its own, mostly an older one. */
    long ownVersion(long version) {
      return switch (habit) {
        case LATE -> version - random.nextInt(12);
        case TOUCHING -> version - 10 * random.nextInt(3);
        case EXTREME -> version();
      };
    }
  }

  /** The rows of one commit. */
  private static List<WrittenRow> rows(Random random, Clock clock, boolean isCompound) {
    List<String> carried = LEAVES.stream().filter(leaf -> random.nextInt(3) > 0).toList();
    int deletions = random.nextInt(6) == 0 ? 10 : Math.max(0, random.nextInt(4) - 2);
    boolean isSparse = random.nextInt(3) == 0;
    boolean hasOwnVersions = !clock.versions.equals("commit") && random.nextInt(3) == 0;
    List<WrittenRow> rows = new ArrayList<>();
    for (int i = 1 + random.nextInt(25); i > 0; i--) {
      long version = clock.version();
      boolean deletes = random.nextInt(10) < deletions;
      Map<String, Cell> cells = new HashMap<>();
      for (String leaf : carried) {
        boolean isKey = isCompound && leaf.equals("l");
        if (!deletes && !isKey && !(isSparse && random.nextBoolean())) {
          cells.put(leaf, cell(random, clock, leaf, version, hasOwnVersions));
        }
      }
      Key key = new Key(random.nextInt(30), isCompound ? random.nextInt(3) : 0);
      rows.add(new WrittenRow(key, version, deletes, cells));
    }
    return rows;
  }

  private static Cell cell(
      Random random, Clock clock, String leaf, long version, boolean hasOwnVersions) {
    if (leaf.equals("t") && clock.versions.equals("ordering")) {
      return new Cell(version, List.of(version));
    }
    long at = hasOwnVersions ? clock.ownVersion(version) : version;
    List<Long> values = new ArrayList<>();
    for (int i = leaf.equals("g") ? 2 : 1; i > 0; i--) {
      values.add(random.nextInt(5) == 0 ? null : Long.valueOf(random.nextInt(1000)));
    }
    return new Cell(at, values);
  }

  /** The files of a commit: by bucket, then in key ranges, which overlap where a task was split. */
  private static List<List<StoredRow>> files(
      Random random, MemoryTable table, List<WrittenRow> rows) {
    boolean isSplit = random.nextInt(5) == 0;
    Map<Integer, List<List<StoredRow>>> byBucket = new TreeMap<>();
    for (StoredRow row : MergeLaw.history(List.of(rows), MemoryTable.SKIPPING_NULLS)) {
      List<List<StoredRow>> files =
          byBucket.computeIfAbsent(table.bucket(row.key()), bucket -> new ArrayList<>());
      if (files.isEmpty() || random.nextInt(6) == 0) {
        files.add(new ArrayList<>());
      }
      files.get(isSplit ? random.nextInt(files.size()) : files.size() - 1).add(row);
    }
    return byBucket.values().stream()
        .flatMap(List::stream)
        .filter(file -> !file.isEmpty())
        .toList();
  }
}
