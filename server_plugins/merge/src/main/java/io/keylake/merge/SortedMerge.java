package io.keylake.merge;

import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Merges runs that overlap: decides, for every key, which stored row holds the value of which
 * column. It looks at keys and stamps only; whoever asked gathers the values afterwards, from the
 * batches that are still in place.
 *
 * <p>The largest run leads: it is not in the tree of the others, and its next key is compared with
 * the smallest of theirs. Where most keys lie in one run, as after a compaction, most of them are
 * taken without a match in the tree.
 *
 * <p>The loop:
 *
 * <ol>
 *   <li>Load the next batch of every run whose batch is used up. What the last {@link Decisions}
 *       pointed to is gone now.
 *   <li>Take the whole stretch of the leading run's keys that lie below all other heads; and so of
 *       another run once it has won twice in a row.
 *   <li>Otherwise collect the rows of one key, in run order, and resolve them by the merge law.
 *   <li>Stop as soon as a batch is used up, so that every place decided so far stays readable.
 * </ol>
 */
public final class SortedMerge implements Closeable {
  private final RunCursor[] cursors;
  private final KeyResolver resolver;
  private final Decisions out;
  private final int[] groupRuns;
  private final int[] groupRows;
  private final boolean exact;
  private int lead;
  private int[] others = {};
  private LoserTree tree = new LoserTree(new RunCursor[0]); // of the others, by their index
  private int lastOther = -1;
  private boolean started;
  private long rowsIn;

  /**
   * @param cursors the runs, oldest first
   * @param capacity the most rows one {@link Decisions} holds
   */
  public SortedMerge(List<? extends RunCursor> cursors, MergeRules rules, int capacity) {
    if (cursors.size() > Decisions.MAX_RUNS) {
      throw new IllegalArgumentException(
          "cannot merge " + cursors.size() + " runs at once; the limit is " + Decisions.MAX_RUNS);
    }
    this.cursors = cursors.toArray(RunCursor[]::new);
    boolean stamps = rules.wanted().hasStamps();
    this.out = new Decisions(capacity, rules.classes(), stamps, rules.wholeRows());
    this.resolver = new KeyResolver(this.cursors, rules, out);
    this.exact = Arrays.stream(this.cursors).allMatch(RunCursor::isExact);
    this.groupRuns = new int[this.cursors.length];
    this.groupRows = new int[this.cursors.length];
  }

  /**
   * The next decisions; their count is 0 when all runs have ended. They are valid until the next
   * call.
   */
  public Decisions next() throws IOException {
    out.clear();
    while (out.count() == 0 && loadDrained()) {
      boolean inPlace = true;
      while (inPlace && !out.full()) {
        inPlace = take();
      }
    }
    return out;
  }

  /** The number of stored rows that have gone into the merge. */
  public long rowsIn() {
    return rowsIn;
  }

  private boolean loadDrained() throws IOException {
    boolean any = false;
    for (RunCursor cursor : cursors) {
      if (!started || (cursor.drained() && !cursor.ended())) {
        cursor.advanceBatch();
        rowsIn += cursor.size();
      }
      any |= !cursor.ended();
    }
    if (!started && any) {
      chooseLead();
    }
    started = true;
    tree.rebuild();
    return any;
  }

  /** Batches of larger runs are larger, or equal. */
  private void chooseLead() {
    for (int run = 1; run < cursors.length; run++) {
      lead = cursors[run].size() > cursors[lead].size() ? run : lead;
    }
    others = IntStream.range(0, cursors.length).filter(run -> run != lead).toArray();
    tree =
        new LoserTree(
            Arrays.stream(others).mapToObj(run -> cursors[run]).toArray(RunCursor[]::new));
  }

  /** Takes the rows of at least one key; false when a batch has been used up. */
  private boolean take() {
    int other = tree.winner();
    RunCursor leading = cursors[lead];
    if (leading.drained()) {
      return other >= 0 && takeOther(other);
    }
    RunCursor rival = other < 0 ? null : cursors[others[other]];
    int end = stretchEnd(leading, rival);
    if (rival == null || end > leading.row()) {
      lastOther = -1;
      takeStretch(lead, end);
      return !leading.drained();
    }
    boolean isSame = leading.prefixes()[end] == tree.head(other) && isSameKey(leading, end, rival);
    return isSame ? takeGroup(other, true) : takeOther(other);
  }

  /** Takes rows of a key that the leading run has not, or of all keys below all other heads. */
  private boolean takeOther(int other) {
    RunCursor cursor = cursors[others[other]];
    int end = other == lastOther ? stretchEnd(cursor, rival()) : cursor.row();
    lastOther = other;
    if (end == cursor.row()) {
      return takeGroup(other, false);
    }
    takeStretch(others[other], end);
    tree.replay();
    return !cursor.drained();
  }

  /** The run that would win if the winner of the tree were not there; null for none. */
  private @Nullable RunCursor rival() {
    int challenger = tree.challenger();
    RunCursor leading = cursors[lead];
    if (challenger < 0) {
      return leading.drained() ? null : leading;
    }
    RunCursor next = cursors[others[challenger]];
    return leading.drained() || isBefore(next, leading) ? next : leading;
  }

  private boolean isBefore(RunCursor one, RunCursor two) {
    long first = one.prefixes()[one.row()];
    long second = two.prefixes()[two.row()];
    return first == second
        ? !exact && one.compareTied(one.row(), two, two.row()) < 0
        : first < second;
  }

  /** The first row of the cursor's batch that is not below the head of a rival. */
  private int stretchEnd(RunCursor cursor, @Nullable RunCursor rival) {
    int size = cursor.size();
    int row = cursor.row();
    if (rival == null) {
      return size;
    }
    long[] prefixes = cursor.prefixes();
    long limit = rival.prefixes()[rival.row()];
    while (row < size && prefixes[row] < limit) {
      row++;
    }
    while (!exact
        && row < size
        && prefixes[row] == limit
        && cursor.compareTied(row, rival, rival.row()) < 0) {
      row++;
    }
    return row;
  }

  private void takeStretch(int run, int end) {
    RunCursor cursor = cursors[run];
    int row = cursor.row();
    while (row < end && !out.full()) {
      resolver.resolveAlone(run, row);
      row++;
    }
    cursor.moveTo(row);
  }

  /**
   * Takes the rows of one key.
   *
   * @param other which of the others has it, and wins
   * @param leads whether the leading run has it, too
   */
  private boolean takeGroup(int other, boolean leads) {
    RunCursor keyHolder = cursors[others[other]];
    int keyRow = keyHolder.row();
    long prefix = tree.head(other);
    int leadAt = leads ? lead : cursors.length; // it comes before the first run after it
    int rows = 0;
    boolean inPlace = true;
    int next = other;
    do {
      int run = others[next];
      if (run > leadAt) {
        inPlace &= addToGroup(rows++, lead);
        leadAt = cursors.length;
      }
      inPlace &= addToGroup(rows++, run);
      tree.replay();
      next = tree.winner();
    } while (next >= 0
        && tree.head(next) == prefix
        && isSameKey(keyHolder, keyRow, cursors[others[next]]));
    if (leadAt < cursors.length) {
      inPlace &= addToGroup(rows++, lead);
    }
    if (rows == 1) {
      resolver.resolveAlone(groupRuns[0], groupRows[0]);
    } else {
      resolver.resolve(groupRuns, groupRows, rows);
    }
    return inPlace;
  }

  /** Adds the rows of a run to the group; gives false when the run's batch has been used up. */
  private boolean addToGroup(int at, int run) {
    RunCursor cursor = cursors[run];
    groupRuns[at] = run;
    groupRows[at] = cursor.row();
    cursor.moveTo(cursor.row() + 1);
    return !cursor.drained();
  }

  /** A row has the key of another run's head, whose prefix it has. */
  private boolean isSameKey(RunCursor keyHolder, int keyRow, RunCursor other) {
    return exact || keyHolder.compareTied(keyRow, other, other.row()) == 0;
  }

  @Override
  public void close() throws IOException {
    IOException failure = null;
    for (RunCursor cursor : cursors) {
      try {
        cursor.close();
      } catch (IOException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
