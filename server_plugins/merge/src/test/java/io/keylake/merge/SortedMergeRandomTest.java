package io.keylake.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.MergeInMemory.Facts;
import io.keylake.merge.MergeInMemory.Setting;
import io.keylake.merge.MergeRules.Order;
import io.keylake.merge.MergeRules.Wanted;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Random commits, merged and compared with the law applied by brute force. */
class SortedMergeRandomTest {
  private static final List<String> LEAVES = List.of("a", "b", "c", "d");
  private static final Map<String, Reduction> REGISTERS = Map.of("d", Reduction.LATEST_NOT_NULL);
  private static final Map<String, Reduction> ACCUMULATORS =
      Map.of("a", Reduction.SUM, "b", Reduction.FIRST, "c", Reduction.MAX);

  /** How keys are drawn, and the prefix that a run shows of them. */
  private enum Keys {
    FEW(random -> new Key(random.nextInt(25), 0), Key::first),
    ALL(random -> new Key(random.nextLong(), 0), Key::first),
    ENDS(
        random -> new Key(random.nextLong(3) - 1 + (random.nextBoolean() ? Long.MAX_VALUE : 0), 0),
        Key::first),
    COMPOUND(random -> new Key(random.nextInt(4), random.nextInt(12) - 6L), Key::first),
    COARSE(random -> new Key(random.nextInt(60), random.nextInt(2)), key -> key.first() >> 3),
    TIED(random -> new Key(random.nextInt(40), 0), key -> 0);

    private final Function<Random, Key> draw;
    private final ToLongFunction<Key> prefix;

    Keys(Function<Random, Key> draw, ToLongFunction<Key> prefix) {
      this.draw = draw;
      this.prefix = prefix;
    }
  }

  /** How versions are drawn. */
  private enum Versions {
    TIES,
    EXTREMES,
    BY_COMMIT,
    /** Ranges that do not overlap, though the commits arrive out of order. */
    SHUFFLED_RANGES;

    long draw(Random random, int commit) {
      return switch (this) {
        case TIES -> random.nextInt(6) - 2;
        case EXTREMES -> random.nextLong(3) - 1 + (random.nextBoolean() ? Long.MAX_VALUE : 0);
        case BY_COMMIT -> commit / 2;
        case SHUFFLED_RANGES -> 100L * (commit ^ 5) + random.nextInt(100);
      };
    }
  }

  @ParameterizedTest
  @CsvSource({"1, 5, 30", "2, 15, 40", "3, 10, 40", "17, 3, 30", "200, 1, 6", "33, 1, 100"})
  void theMergeObeysTheLaw(int commits, int rounds, int mostRows) {
    for (Keys keys : Keys.values()) {
      for (Versions versions : Versions.values()) {
        for (int round = 0; round < rounds; round++) {
          long seed = ((commits * 31L + keys.ordinal()) * 31 + versions.ordinal()) * 1000 + round;
          check(new Random(seed), commits, mostRows, keys, versions, REGISTERS);
          check(new Random(seed), commits, mostRows, keys, versions, ACCUMULATORS);
        }
      }
    }
  }

  private static void check(
      Random random,
      int commits,
      int mostRows,
      Keys keys,
      Versions versions,
      Map<String, Reduction> reductions) {
    List<List<WrittenRow>> written = new ArrayList<>();
    List<List<StoredRow>> runs = new ArrayList<>();
    for (int commit = 0; commit < commits; commit++) {
      written.add(rows(random, commit, random.nextInt(mostRows + 1), keys, versions));
      runs.add(MergeLaw.history(List.of(written.get(commit)), reductions));
    }
    List<StoredRow> expected = MergeLaw.history(written, reductions);
    MergeInMemory merge = new MergeInMemory(LEAVES, keys.prefix, reductions);
    Optional<List<List<StoredRow>>> ordered = RunOrder.of(runs);
    assertTrue(
        ordered.isPresent()
            || (versions != Versions.BY_COMMIT && versions != Versions.SHUFFLED_RANGES));
    for (Wanted wanted : Wanted.values()) {
      Setting setting = setting(random, Order.VERSION, wanted);
      assertEquals(answer(expected, wanted), merge.merge(runs, setting));
      boolean isInCommitOrder =
          ordered.equals(Optional.of(runs.stream().filter(run -> !run.isEmpty()).toList()));
      ordered
          .filter(inOrder -> reductions == REGISTERS || isInCommitOrder)
          .ifPresent(
              inOrder ->
                  assertEquals(
                      answer(expected, wanted),
                      merge.merge(inOrder, setting(random, Order.RUN, wanted))));
      assertEquals(answer(expected, wanted), merge.merge(compacted(random, merge, runs), setting));
    }
  }

  private static List<StoredRow> answer(List<StoredRow> history, Wanted wanted) {
    return switch (wanted) {
      case HISTORY -> history;
      case ROWS_AND_STAMPS -> history.stream().filter(StoredRow::isVisible).toList();
      case ROWS ->
          history.stream().filter(StoredRow::isVisible).map(StoredRow::withoutStamps).toList();
      case ROWS_AND_TOMBSTONES -> history.stream().map(StoredRow::withoutStamps).toList();
    };
  }

  private static Setting setting(Random random, Order order, Wanted wanted) {
    Facts facts = random.nextInt(4) == 0 ? Facts.NONE : Facts.TIGHT;
    return new Setting(order, facts, wanted, 1 + random.nextInt(20), 1 + random.nextInt(20));
  }

  /** Some stretch of the runs merged into one run, and then again. */
  private static List<List<StoredRow>> compacted(
      Random random, MergeInMemory merge, List<List<StoredRow>> runs) {
    List<List<StoredRow>> result = new ArrayList<>(runs);
    for (int times = 0; times < 2; times++) {
      int from = random.nextInt(result.size());
      List<List<StoredRow>> range =
          result.subList(from, from + 1 + random.nextInt(result.size() - from));
      List<StoredRow> one = merge.merge(range, setting(random, Order.VERSION, Wanted.HISTORY));
      range.clear();
      result.add(from, one);
    }
    return result;
  }

  /** The rows of one commit; commits differ in what they are made of. */
  private static List<WrittenRow> rows(
      Random random, int commit, int count, Keys keys, Versions versions) {
    int deletions = random.nextInt(4) == 0 ? 10 : random.nextInt(3);
    boolean sparse = random.nextBoolean();
    boolean ownVersions = random.nextInt(4) == 0;
    List<String> carried = LEAVES.stream().filter(leaf -> random.nextInt(3) > 0).toList();
    List<WrittenRow> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      long version = versions.draw(random, commit);
      boolean deletes = random.nextInt(10) < deletions;
      Map<String, Cell> cells = new HashMap<>();
      for (String leaf : carried) {
        if (!deletes && !(sparse && random.nextBoolean())) {
          long at = ownVersions ? versions.draw(random, commit) : version;
          cells.put(leaf, new Cell(at, List.of(random.nextLong())));
        }
      }
      rows.add(new WrittenRow(keys.draw.apply(random), version, deletes, cells));
    }
    return rows;
  }
}
