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
 * <p>A drained or ended run plays under the number run + k, which has the largest head and loses
 * every tie against a run with a key. So it loses every match, and the tree stays valid until its
 * next batch is there and {@link #rebuild} is called.
 */
final class LoserTree {
  private final RunCursor[] cursors;
  private final int[] losers;
  private final long[] heads; // by number: of k runs, and of the same k without a key
  private final boolean exact;

  LoserTree(RunCursor[] cursors) {
    this.cursors = cursors;
    this.exact = Arrays.stream(cursors).allMatch(RunCursor::isExact);
    this.losers = new int[Math.max(cursors.length, 1)];
    this.heads = new long[2 * cursors.length];
    Arrays.fill(heads, Long.MAX_VALUE);
  }

  void rebuild() {
    if (cursors.length > 0) {
      losers[0] = cursors.length == 1 ? enter(0) : play(1);
    }
    assert winsAgainstAll() : Arrays.toString(losers);
  }

  /** The winner comes before every other run that has a key. */
  private boolean winsAgainstAll() {
    int winner = winner();
    for (int run = 0; run < cursors.length; run++) {
      if (run != winner && !cursors[run].drained() && (winner < 0 || before(run, winner))) {
        return false;
      }
    }
    return true;
  }

  private int play(int node) {
    int k = cursors.length;
    if (node >= k) {
      return enter(node - k);
    }
    int left = play(2 * node);
    int right = play(2 * node + 1);
    boolean leftWins = before(left, right);
    losers[node] = leftWins ? right : left;
    return leftWins ? left : right;
  }

  /** The run with the smallest key, or -1 when every run is drained or has ended. */
  int winner() {
    int winner = losers[0];
    return winner < cursors.length ? winner : -1;
  }

  long head(int run) {
    return heads[run];
  }

  /** The run that would win if the winner were not there, or -1. */
  int challenger() {
    int k = cursors.length;
    int winner = winner();
    int best = -1;
    for (int node = winner < 0 ? 0 : (winner + k) >> 1; node >= 1; node >>= 1) {
      int other = losers[node];
      if (other < k && (best < 0 || before(other, best))) {
        best = other;
      }
    }
    return best;
  }

  /** Plays the matches of the winner again; it is called after the winner's cursor has moved. */
  void replay() {
    if (exact) {
      replayExact();
      return;
    }
    int run = losers[0];
    int winner = enter(run);
    for (int node = (run + cursors.length) >> 1; node >= 1; node >>= 1) {
      int other = losers[node];
      if (before(other, winner)) {
        losers[node] = winner;
        winner = other;
      }
    }
    losers[0] = winner;
  }

  /**
   * Plays the matches without branches, which no processor could predict: each match is a toss-up.
   */
  private void replayExact() {
    int run = losers[0];
    int winner = enter(run);
    long head = heads[winner];
    for (int node = (run + cursors.length) >> 1; node >= 1; node >>= 1) {
      int other = losers[node];
      long otherHead = heads[other];
      long differs = otherHead ^ head;
      long isLess = (otherHead & ~head) | (~differs & (otherHead - head)); // in its sign
      long isTied = ~(differs | -differs);
      int otherWins = (int) ((isLess | (isTied & (other - winner))) >> 63); // all bits, or none
      int swapped = (other ^ winner) & otherWins;
      losers[node] = other ^ swapped;
      winner ^= swapped;
      head ^= differs & otherWins;
    }
    losers[0] = winner;
  }

  /** The number under which a run plays from now on. */
  private int enter(int run) {
    RunCursor cursor = cursors[run];
    if (cursor.drained()) {
      return run + cursors.length;
    }
    heads[run] = cursor.prefixes()[cursor.row()];
    return run;
  }

  private boolean before(int a, int b) {
    long headA = heads[a];
    long headB = heads[b];
    return headA != headB ? headA < headB : beforeTied(a, b);
  }

  private boolean beforeTied(int a, int b) {
    if (exact || Math.max(a, b) >= cursors.length) {
      return a < b;
    }
    int rest = cursors[a].compareTied(cursors[a].row(), cursors[b], cursors[b].row());
    return rest != 0 ? rest < 0 : a < b;
  }
}
