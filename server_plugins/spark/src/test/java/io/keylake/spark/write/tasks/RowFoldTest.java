package io.keylake.spark.write.tasks;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeCase;
import io.keylake.merge.Reduction;
import io.keylake.merge.WrittenRow;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The rows of one key in one write become one, by the law. */
class RowFoldTest {
  private static final Map<String, List<String>> COLUMNS =
      Map.of("a", List.of("a"), "b", List.of("b"), "g", List.of("c", "d"));
  private static final Map<String, Reduction> REDUCTIONS =
      Map.of("a", Reduction.SUM, "b", Reduction.LATEST_NOT_NULL);

  static List<MergeCase> cases() {
    return MergeCase.readAll();
  }

  @ParameterizedTest
  @MethodSource("cases")
  void theRunsOfTheMergeCases(MergeCase given) {
    FoldInMemory fold = new FoldInMemory(given.leaves(), given.reductions(), true);
    for (MergeCase.Read read : given.reads()) {
      given.runs(read).forEach(run -> fold.assertLaw(run, given.toString()));
    }
  }

  @Test
  void randomRows() {
    FoldInMemory fold = new FoldInMemory(COLUMNS, REDUCTIONS, true);
    for (int seed = 0; seed < 3000; seed++) {
      Random random = new Random(seed);
      boolean hasOwnVersions = random.nextBoolean();
      List<WrittenRow> rows = new ArrayList<>();
      for (int i = 1 + random.nextInt(6); i > 0; i--) {
        rows.add(row(random, hasOwnVersions));
      }
      fold.assertLaw(rows, "seed " + seed);
    }
  }

  /**
   * A write that does not say its order is folded in the order of versions, and then as rows come.
   */
  @Test
  void randomRowsWithoutAnOrder() {
    FoldInMemory fold = new FoldInMemory(COLUMNS, REDUCTIONS, false);
    for (int seed = 0; seed < 1000; seed++) {
      Random random = new Random(seed);
      List<WrittenRow> rows = new ArrayList<>();
      for (int i = 1 + random.nextInt(6); i > 0; i--) {
        rows.add(row(random, false));
      }
      fold.assertLaw(rows, "seed " + seed);
    }
  }

  private static WrittenRow row(Random random, boolean hasOwnVersions) {
    long version = random.nextInt(4);
    boolean deletes = random.nextInt(4) == 0;
    Map<String, Cell> cells = new HashMap<>();
    for (Map.Entry<String, List<String>> leaf : COLUMNS.entrySet()) {
      if (!deletes && random.nextInt(3) > 0) {
        long at = hasOwnVersions ? random.nextInt(4) : version;
        List<Long> values = new ArrayList<>();
        for (int i = 0; i < leaf.getValue().size(); i++) {
          values.add(random.nextInt(4) == 0 ? null : Long.valueOf(random.nextInt(100)));
        }
        cells.put(leaf.getKey(), new Cell(at, values));
      }
    }
    return new WrittenRow(new Key(1, 0), version, deletes, cells);
  }
}
