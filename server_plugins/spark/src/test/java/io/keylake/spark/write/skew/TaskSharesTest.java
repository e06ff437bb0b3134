package io.keylake.spark.write.skew;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.spark.write.skew.TaskShares.Share;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TaskSharesTest {
  private static final TaskSize SIZE = new TaskSize(64, 1, false);
  private static final TaskSize FIXED = new TaskSize(64, 1, true);

  @Test
  void aSmallWriteIsOneTask() {
    TaskShares shares = TaskShares.of(new long[] {0, 10, 3, 0, 0, 7}, 1, SIZE);
    assertEquals(List.of(new Share(0, 6)), shares.whole());
    assertEquals(List.of(new Share(0, 3)), TaskShares.of(new long[3], 2, SIZE).whole());
    assertEquals(List.of(), TaskShares.of(new long[0], 2, SIZE).whole());
  }

  @Test
  void coresHaveEquallyMuchToDo() {
    long[] eightBuckets = {17, 16, 16, 15, 17, 16, 16, 17};
    assertEquals(
        List.of(new Share(0, 2), new Share(2, 4), new Share(4, 6), new Share(6, 8)),
        TaskShares.of(eightBuckets, 2, SIZE).whole());
    assertEquals(
        List.of(new Share(0, 4), new Share(4, 8)),
        TaskShares.of(eightBuckets, 2, new TaskSize(1000, 1, false)).whole());
    assertEquals(
        List.of(new Share(0, 8)),
        TaskShares.of(eightBuckets, 2, new TaskSize(1000, 100, false)).whole(),
        "tasks would be too small");
  }

  @Test
  void aHotPartitionIsDividedAndTheOthersShareTheRest() {
    long[] bytes = {20, 20, 800, 20, 20, 60, 60};
    TaskShares shares = TaskShares.of(bytes, 2, new TaskSize(100, 1, false));
    assertEquals(List.of(2), shares.hot());
    assertEquals(1000 / 7.0, shares.bytes());
    assertEquals(6, shares.tasksFor(800));
    assertEquals(List.of(new Share(0, 2), new Share(3, 6), new Share(6, 7)), shares.whole());
  }

  @Test
  void fewPartitionsAreDividedAmongManyCores() {
    long[] eightBuckets = {0, 170, 160, 160, 150, 170, 160, 160, 170, 0, 0, 0};
    assertEquals(List.of(), TaskShares.of(eightBuckets, 8, SIZE).hot());
    long[] many = Arrays.copyOf(eightBuckets, 200);
    TaskShares shares = TaskShares.of(many, 20, SIZE);
    assertEquals(List.of(1, 2, 3, 4, 5, 6, 7, 8), shares.hot());
    assertEquals(3, shares.tasksFor(170));
  }

  @Test
  void nothingIsHotInAWriteThatFitsOneTask() {
    assertEquals(List.of(), TaskShares.of(new long[] {1, 60, 1}, 2, SIZE).hot());
  }

  @Test
  void whereTheSessionWantsIt_eachPartitionIsATask() {
    TaskShares shares = TaskShares.of(new long[] {10, 0, 0, 12, 9, 11}, 2, FIXED);
    assertEquals(4, shares.whole().size());
    assertEquals(List.of(), shares.hot());
  }

  @Test
  void eachPartitionIsInOneTaskAndNoTaskHasMuchMoreThanOthers() {
    Random random = new Random(3);
    for (int round = 0; round < 200; round++) {
      long[] bytes = new long[7 + random.nextInt(300)];
      Arrays.setAll(bytes, i -> 500 + (long) Math.exp(8 * random.nextDouble()));
      TaskShares shares = TaskShares.of(bytes, 1 + random.nextInt(8), new TaskSize(3000, 1, false));
      boolean[] seen = new boolean[bytes.length];
      shares.hot().forEach(i -> seen[i] = true);
      for (Share share : shares.whole()) {
        long sum = 0;
        for (int i = share.begin(); i < share.end(); i++) {
          assertTrue(!seen[i]);
          seen[i] = true;
          sum += bytes[i];
        }
        assertTrue(sum <= 2.5 * shares.bytes() + 1, sum + " of " + shares.bytes());
      }
      for (boolean one : seen) {
        assertTrue(one);
      }
    }
  }
}
