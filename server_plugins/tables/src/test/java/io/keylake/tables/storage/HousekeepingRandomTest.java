package io.keylake.tables.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.merge.RandomRuns;
import io.keylake.tables.FileNames;
import io.keylake.tables.history.RetentionPolicy;
import java.nio.file.Path;
import java.time.Instant;
import java.util.EnumSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whatever is done to a table with branches that share files, by clients that do not see each
 * other's commits at once, and however tightly it is cleaned in between: all files that any of its
 * snapshots needs stay, and in the end all others are gone.
 */
@Tag("random")
class HousekeepingRandomTest {
  private static final int STEPS = 45;
  private static final RetentionPolicy TIGHTEST = new RetentionPolicy(0.0, 1, null, 0, 0.0, 0, 30);

  @Test
  void allFilesThatAreNeededStay(@TempDir Path folder) {
    Set<RandomSteps.Step> done = EnumSet.noneOf(RandomSteps.Step.class);
    AtomicInteger tables = new AtomicInteger();
    RandomRuns.of(
        5,
        random -> {
          Path place = folder.resolve("table" + tables.getAndIncrement());
          TableOnDisk disk = new TableOnDisk(place, new DiskFiles());
          RandomSteps steps = new RandomSteps(random, disk);
          for (int count = 1; count <= STEPS; count++) {
            RandomSteps.Step step = steps.take(done);
            disk.assertNothingIsMissing("in step %d: %s".formatted(count, step));
          }
          Housekeeping.run(disk.opened().table, TIGHTEST, Instant.now());
          disk.assertNothingIsMissing("at the end");
          Set<Path> left = new TreeSet<>(disk.files());
          left.removeAll(disk.needed());
          left.removeIf(path -> FileNames.isTableMetadata(path.getFileName().toString()));
          assertEquals(Set.of(), left, "not needed, and still there");
        });
    assertEquals(EnumSet.allOf(RandomSteps.Step.class), done, "each was done at least once");
  }
}
