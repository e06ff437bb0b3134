package io.keylake.merge;

import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/**
 * Merges runs that overlap: decides, for every key, which stored row holds the value of which
 * column. It looks at keys and stamps only; whoever asked gathers the values afterwards, from the
 * batches that are still in place.
 *
 * <p>The loop:
 *
 * <ol>
 *   <li>Load the next batch of every run whose batch is used up. What the last {@link Decisions}
 *       pointed to is gone now.
 *   <li>Once a run has won twice in a row, take the whole stretch of its keys that lie below all
 *       other heads, without playing the tree.
 *   <li>Otherwise collect the rows of one key, in run order, and resolve them by the merge law.
 *   <li>Stop as soon as a batch is used up, so that every place decided so far stays readable.
 * </ol>
 */
public final class SortedMerge implements Closeable {
  private final RunCursor[] cursors;
  private final KeyResolver resolver;
  private final LoserTree tree;
  private final Decisions out;
  private final int[] groupRuns;
  private final int[] groupRows;
  private final boolean exact;
  private int lastRun = -1;
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
    this.tree = new LoserTree(this.cursors);
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
        int run = tree.winner();
        inPlace = run >= 0 && take(run);
      }
    }
    return out;
  }

  /** How many stored rows have gone into the merge. */
  public long rowsIn() {
    return rowsIn;
  }

  private boolean loadDrained() throws IOException {
    boolean loaded = false;
    boolean any = false;
    for (RunCursor cursor : cursors) {
      if (!started || (cursor.drained() && !cursor.ended())) {
        loaded |= cursor.advanceBatch();
        rowsIn += cursor.size();
      }
      any |= !cursor.ended();
    }
    if (!started || loaded || any) {
      tree.rebuild();
    }
    started = true;
    return any;
  }

  /** Takes the rows of at least one key; false when a batch has been used up. */
  private boolean take(int run) {
    if (run != lastRun) {
      lastRun = run;
      return takeGroup(run);
    }
    int challenger = tree.challenger();
    if (challenger < 0) {
      return takeStretch(run, cursors[run].size());
    }
    int end = stretchEnd(run, challenger);
    return end > cursors[run].row() ? takeStretch(run, end) : takeGroup(run);
  }

  /** The first row of the run's batch that is not below the challenger's head. */
  private int stretchEnd(int run, int challenger) {
    RunCursor cursor = cursors[run];
    long[] prefixes = cursor.prefixes();
    long limit = tree.head(challenger);
    int size = cursor.size();
    int row = cursor.row();
    while (row < size && prefixes[row] < limit) {
      row++;
    }
    RunCursor other = cursors[challenger];
    while (!exact
        && row < size
        && prefixes[row] == limit
        && cursor.compareTied(row, other, other.row()) < 0) {
      row++;
    }
    return row;
  }

  private boolean takeStretch(int run, int end) {
    RunCursor cursor = cursors[run];
    int row = cursor.row();
    while (row < end && !out.full()) {
      resolver.resolveAlone(run, row);
      row++;
    }
    cursor.moveTo(row);
    tree.replay();
    return !cursor.drained();
  }

  private boolean takeGroup(int first) {
    RunCursor keyHolder = cursors[first];
    int keyRow = keyHolder.row();
    long prefix = tree.head(first);
    groupRuns[0] = first;
    groupRows[0] = keyRow;
    int rows = 1;
    keyHolder.moveTo(keyRow + 1);
    boolean inPlace = !keyHolder.drained();
    tree.replay();
    int run = tree.winner();
    while (run >= 0 && tree.head(run) == prefix && isSameKey(keyHolder, keyRow, cursors[run])) {
      RunCursor cursor = cursors[run];
      int row = cursor.row();
      groupRuns[rows] = run;
      groupRows[rows] = row;
      rows++;
      cursor.moveTo(row + 1);
      inPlace &= !cursor.drained();
      tree.replay();
      run = tree.winner();
    }
    if (rows == 1) {
      resolver.resolveAlone(first, keyRow);
    } else {
      resolver.resolve(groupRuns, groupRows, rows);
    }
    return inPlace;
  }

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
