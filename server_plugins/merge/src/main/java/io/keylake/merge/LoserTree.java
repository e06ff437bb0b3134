package io.keylake.merge;

import java.util.Arrays;

/**
 * Says which run holds the smallest key. Equal keys leave in run order, oldest run first.
 *
 * <p>A tournament among k leaves: an inner node keeps the loser of the match played there, node 0
 * the overall winner. When the winner moves on, only the matches on its path to the root are played
 * again: log2(k) comparisons.
 *
 * <pre>
 *            winner (node 0)
 *              node 1
 *          node 2   node 3
 *         r0   r1   r2   r3
 * </pre>
 *
 * <p>A drained or ended run has the largest head and loses every tie, so it loses every match, and
 * the tree stays valid until its next batch is there and {@link #rebuild} is called.
 */
final class LoserTree {
  private final RunCursor[] cursors;
  private final int[] losers;
  private final long[] heads;
  private final boolean[] out;
  private final boolean exact;

  LoserTree(RunCursor[] cursors) {
    this.cursors = cursors;
    this.exact = Arrays.stream(cursors).allMatch(RunCursor::isExact);
    this.losers = new int[Math.max(cursors.length, 1)];
    this.heads = new long[cursors.length];
    this.out = new boolean[cursors.length];
  }

  void rebuild() {
    for (int run = 0; run < cursors.length; run++) {
      readHead(run);
    }
    losers[0] = cursors.length == 1 ? 0 : play(1);
  }

  private int play(int node) {
    int k = cursors.length;
    if (node >= k) {
      return node - k;
    }
    int left = play(2 * node);
    int right = play(2 * node + 1);
    boolean leftWins = before(left, right);
    losers[node] = leftWins ? right : left;
    return leftWins ? left : right;
  }

  /** The run with the smallest key, or -1 when every run is drained or has ended. */
  int winner() {
    int run = losers[0];
    return out[run] ? -1 : run;
  }

  long head(int run) {
    return heads[run];
  }

  /** The run that would win if the winner were not there, or -1. */
  int challenger() {
    int k = cursors.length;
    int best = -1;
    for (int node = (losers[0] + k) >> 1; node >= 1; node >>= 1) {
      int run = losers[node];
      if (!out[run] && (best < 0 || before(run, best))) {
        best = run;
      }
    }
    return best;
  }

  /** To be called after the winner's cursor has moved. */
  void replay() {
    int run = losers[0];
    readHead(run);
    int k = cursors.length;
    for (int node = (run + k) >> 1; node >= 1; node >>= 1) {
      int other = losers[node];
      if (before(other, run)) {
        losers[node] = run;
        run = other;
      }
    }
    losers[0] = run;
  }

  private void readHead(int run) {
    RunCursor cursor = cursors[run];
    out[run] = cursor.drained();
    heads[run] = out[run] ? Long.MAX_VALUE : cursor.prefixes()[cursor.row()];
  }

  private boolean before(int a, int b) {
    long headA = heads[a];
    long headB = heads[b];
    return headA != headB ? headA < headB : beforeTied(a, b);
  }

  private boolean beforeTied(int a, int b) {
    if (out[a] || out[b]) {
      return !out[a] || (out[b] && a < b);
    }
    if (exact) {
      return a < b;
    }
    int rest = cursors[a].compareTied(cursors[a].row(), cursors[b], cursors[b].row());
    return rest != 0 ? rest < 0 : a < b;
  }
}
