package io.keylake.tables.repair;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.RandomRuns;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random writes, overwrites, drops of files and compactions, and undos of random ranges of all of
 * these, of undos, too. After each step a read gives what the law makes of the commits that count,
 * and so do the changes and the writes between two random commits.
 */
@Tag("random")
class UndoRandomTest {
  private static final int STEPS = 14;

  /** What was seen, over all rounds: no test passes because nothing was undone. */
  private final Map<String, Integer> seen = new TreeMap<>();

  @Test
  void theCommitsThatCountGiveTheAnswers() {
    RandomRuns.of(15, this::check);
    assertEquals(Set.of("undo in metadata", "undo of an undo", "undo with a merge"), seen.keySet());
    assertTrue(seen.values().stream().allMatch(times -> times > 5), seen.toString());
  }

  private void check(Random random) throws Exception {
    CommitTwin twin = new CommitTwin(random);
    twin.write();
    StringBuilder steps = new StringBuilder("steps");
    try {
      for (int step = 0; step < STEPS; step++) {
        switch (random.nextInt(10)) {
          case 0, 1, 2 -> twin.write();
          case 3, 4 -> twin.overwrite();
          case 5 -> twin.compact();
          case 6 -> twin.drop();
          default -> twin.undo();
        }
        steps.append(", ").append(twin.table.table.currentSnapshot().summary().get("keylake.verb"));
        twin.check();
      }
    } catch (AssertionError | RuntimeException e) {
      throw new AssertionError("%s: %s".formatted(steps, e.getMessage()), e);
    }
    twin.seen.forEach((what, times) -> seen.merge(what, times, Integer::sum));
  }
}
