package io.keylake.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LoserTreeTest {

  /** A run of keys and nothing else. */
  private static final class KeysCursor extends RunCursor {
    private final List<Key> keys;
    private final int batchRows;
    private List<Key> batch = List.of();
    private int read;

    KeysCursor(List<Key> keys, int batchRows) {
      this.keys = keys;
      this.batchRows = batchRows;
    }

    Key key() {
      return batch.get(row());
    }

    @Override
    protected int load() {
      batch = keys.subList(read, Math.min(read + batchRows, keys.size()));
      read += batch.size();
      show(batch.stream().mapToLong(Key::first).toArray());
      return batch.size();
    }

    @Override
    protected int compareTied(int row, RunCursor other, int otherRow) {
      return Long.compare(
          batch.get(row).second(), ((KeysCursor) other).batch.get(otherRow).second());
    }

    @Override
    protected boolean isExact() {
      return keys.stream().allMatch(key -> key.second() == 0);
    }

    @Override
    public Stamps versions() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Stamps written() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Stamps deleted() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Stamps columns(int columnClass) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }

  @Test
  void equalKeysLeaveInRunOrder() throws IOException {
    KeysCursor[] cursors = new KeysCursor[5];
    for (int run = 0; run < cursors.length; run++) {
      cursors[run] = new KeysCursor(List.of(new Key(7, 1)), 1);
    }
    assertEquals(List.of(0, 1, 2, 3, 4), drain(cursors));
  }

  @Test
  void theSecondPartDecidesWherePrefixesAreEqual() throws IOException {
    KeysCursor[] cursors = {
      new KeysCursor(List.of(new Key(7, 3), new Key(8, -1)), 4),
      new KeysCursor(List.of(new Key(7, 2), new Key(7, 3), new Key(8, Long.MIN_VALUE)), 4)
    };
    assertEquals(List.of(1, 0, 1, 1, 0), drain(cursors));
  }

  @Test
  void theEndsOfTheRangeAreKeysLikeOthers() throws IOException {
    KeysCursor[] cursors = {
      new KeysCursor(List.of(new Key(0, 0), new Key(Long.MAX_VALUE, 0)), 1),
      new KeysCursor(List.of(), 1),
      new KeysCursor(List.of(new Key(Long.MIN_VALUE, 0), new Key(Long.MAX_VALUE, 0)), 1)
    };
    assertEquals(List.of(2, 0, 0, 2), drain(cursors));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 7, 8, 17, 200})
  void winnerAndChallengerAreTheTwoSmallestHeads(int runs) throws IOException {
    for (int seed = 0; seed < 10; seed++) {
      Random random = new Random(seed);
      KeysCursor[] cursors = new KeysCursor[runs];
      for (int run = 0; run < runs; run++) {
        TreeSet<Key> keys = new TreeSet<>();
        for (int i = random.nextInt(20); i > 0; i--) {
          keys.add(new Key(random.nextInt(10), random.nextInt(3)));
        }
        cursors[run] = new KeysCursor(new ArrayList<>(keys), 1 + random.nextInt(5));
      }
      drain(cursors);
    }
  }

  /** The runs in the order in which their rows leave; each step is compared with a plain search. */
  private static List<Integer> drain(KeysCursor[] cursors) throws IOException {
    List<Integer> left = new ArrayList<>();
    LoserTree tree = new LoserTree(cursors);
    boolean loaded = false;
    for (KeysCursor cursor : cursors) {
      loaded |= cursor.advanceBatch();
    }
    while (loaded) {
      tree.rebuild();
      loaded = false;
      for (int run = tree.winner(); run >= 0; run = tree.winner()) {
        assertEquals(smallest(cursors, -1), Optional.of(run));
        assertEquals(smallest(cursors, run).orElse(-1), tree.challenger());
        assertEquals(cursors[run].key().first(), tree.head(run));
        left.add(run);
        cursors[run].moveTo(cursors[run].row() + 1);
        tree.replay();
      }
      assertEquals(-1, tree.challenger());
      for (KeysCursor cursor : cursors) {
        loaded |= !cursor.ended() && cursor.advanceBatch();
      }
    }
    return left;
  }

  private static Optional<Integer> smallest(KeysCursor[] cursors, int except) {
    return IntStream.range(0, cursors.length)
        .filter(run -> run != except && !cursors[run].drained())
        .boxed()
        .min(Comparator.comparing((Integer run) -> cursors[run].key()));
  }
}
