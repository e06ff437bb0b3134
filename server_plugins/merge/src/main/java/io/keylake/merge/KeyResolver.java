package io.keylake.merge;

import static io.keylake.merge.Decisions.NOWHERE;
import static io.keylake.merge.Decisions.place;

import io.keylake.merge.ColumnClass.Takes;
import java.util.List;
import java.util.Objects;

/**
 * The merge law for the rows of one key, which come in run order:
 *
 * <ol>
 *   <li>Of two writes of a column, the larger (version, run) wins.
 *   <li>A tombstone removes every value whose (version, run) is smaller. Only the newest tombstone
 *       matters.
 *   <li>The row is visible iff its newest write is not removed.
 *   <li>Of an accumulator all values count that are stored in the latest run with a tombstone, or
 *       after it, whatever the versions; also while the row is not visible.
 * </ol>
 *
 * <p>A stored row may hold a tombstone and writes: these were made after it, or they would not be
 * there, so a tombstone never removes a value of its own row.
 */
final class KeyResolver {
  private final RunCursor[] cursors;
  private final Decisions out;
  private final boolean byRun;
  private final boolean stamps;
  private final boolean history;
  private final Presence[] written;
  private final Presence[] deleted;
  private final Presence[][] classes;
  private final Takes[] takes;
  private final boolean accumulates;
  private final boolean[] plain;
  private final boolean wholeRows;
  private final int[] oneRun = new int[1];
  private final int[] oneRow = new int[1];

  KeyResolver(RunCursor[] cursors, MergeRules rules, Decisions out) {
    this.cursors = cursors;
    this.out = out;
    this.byRun = rules.order() == MergeRules.Order.RUN;
    this.stamps = rules.wanted().hasStamps();
    this.history = rules.wanted().hasTombstones();
    this.written = rules.written().toArray(Presence[]::new);
    this.deleted = rules.deleted().toArray(Presence[]::new);
    this.classes =
        rules.classes().stream()
            .map(c -> c.byRun().toArray(Presence[]::new))
            .toArray(Presence[][]::new);
    this.takes = rules.classes().stream().map(ColumnClass::takes).toArray(Takes[]::new);
    this.accumulates = rules.classes().stream().anyMatch(c -> c.takes() != Takes.NEWEST);
    this.wholeRows = rules.wholeRows();
    this.plain = new boolean[cursors.length];
    for (int run = 0; run < cursors.length; run++) {
      plain[run] = !stamps && isPlain(run, rules.classes());
    }
  }

  /** Every row of a plain run is visible as it stands when no other run has its key. */
  private boolean isPlain(int run, List<ColumnClass> columnClasses) {
    return written[run] == Presence.ALWAYS
        && deleted[run] == Presence.NEVER
        && columnClasses.stream().allMatch(c -> c.byRun().get(run) != Presence.PER_ROW);
  }

  void resolveAlone(int run, int row) {
    if (wholeRows) {
      out.add(place(run, row));
    } else if (plain[run]) {
      int place = place(run, row);
      int index = out.add(place);
      for (int c = 0; c < classes.length; c++) {
        putPlain(c, index, classes[c][run] == Presence.ALWAYS ? place : NOWHERE);
      }
      if (accumulates) {
        out.resets()[index] = NOWHERE;
      }
    } else {
      oneRun[0] = run;
      oneRow[0] = row;
      resolve(oneRun, oneRow, 1);
    }
  }

  private void putPlain(int c, int index, int place) {
    Contributions all = out.contributions(c);
    if (all == null) {
      out.places(c)[index] = place;
    } else {
      all.begin();
      if (place != NOWHERE) {
        all.add(place);
      }
      all.end();
    }
  }

  void resolve(int[] runs, int[] rows, int size) {
    if (wholeRows) {
      out.add(place(runs[size - 1], rows[size - 1]));
    } else if (byRun) {
      resolveByRun(runs, rows, size);
    } else {
      resolveByVersion(runs, rows, size);
    }
  }

  private void resolveByRun(int[] runs, int[] rows, int size) {
    int tombstone = newestDeleted(runs, rows, size);
    int oldest = Math.max(tombstone, 0);
    int write = size - 1;
    while (write >= oldest && !isWritten(runs[write], rows[write])) {
      write--;
    }
    boolean visible = write >= oldest;
    if (!visible && !history) {
      return;
    }
    int index = out.add(place(runs[size - 1], rows[size - 1]));
    for (int c = 0; c < classes.length; c++) {
      if (takes[c] == Takes.NEWEST) {
        int entry = size - 1;
        while (entry >= oldest && !carries(c, runs[entry], rows[entry])) {
          entry--;
        }
        putColumns(c, index, entry < oldest ? -1 : entry, runs, rows);
      }
    }
    if (accumulates) {
      putAccumulators(index, tombstone, runs, rows, size);
    }
    if (stamps) {
      putStamps(index, visible ? write : -1, tombstone, runs, rows);
    }
  }

  private int newestDeleted(int[] runs, int[] rows, int size) {
    int entry = size - 1;
    while (entry >= 0 && !isDeleted(runs[entry], rows[entry])) {
      entry--;
    }
    return entry;
  }

  private void resolveByVersion(int[] runs, int[] rows, int size) {
    int tombstone = -1;
    long deletedAt = 0;
    int write = -1;
    long writtenAt = 0;
    for (int entry = 0; entry < size; entry++) {
      int run = runs[entry];
      int row = rows[entry];
      if (isDeleted(run, row)) {
        long at = deletedAt(run, row);
        if (tombstone < 0 || at >= deletedAt) {
          tombstone = entry;
          deletedAt = at;
        }
      }
      if (isWritten(run, row)) {
        long at = writtenAt(run, row);
        if (write < 0 || at >= writtenAt) {
          write = entry;
          writtenAt = at;
        }
      }
    }
    boolean visible = write >= 0 && survives(writtenAt, write, deletedAt, tombstone);
    if (!visible && !history) {
      return;
    }
    int index = out.add(place(runs[size - 1], rows[size - 1]));
    for (int c = 0; c < classes.length; c++) {
      if (takes[c] == Takes.NEWEST) {
        putColumns(c, index, newest(c, runs, rows, size, deletedAt, tombstone), runs, rows);
      }
    }
    if (accumulates) {
      putAccumulators(index, newestDeleted(runs, rows, size), runs, rows, size);
    }
    if (stamps) {
      putStamps(index, visible ? write : -1, tombstone, runs, rows);
    }
  }

  /** The entry with the newest surviving value of a class, or -1. */
  private int newest(int c, int[] runs, int[] rows, int size, long deletedAt, int tombstone) {
    int winner = -1;
    long winnerAt = 0;
    for (int entry = 0; entry < size; entry++) {
      if (carries(c, runs[entry], rows[entry])) {
        long at = columnsAt(c, runs[entry], rows[entry]);
        if ((winner < 0 || at >= winnerAt) && survives(at, entry, deletedAt, tombstone)) {
          winner = entry;
          winnerAt = at;
        }
      }
    }
    return winner;
  }

  /**
   * @param reset the entry of the latest commit that has a tombstone, or -1
   */
  private void putAccumulators(int index, int reset, int[] runs, int[] rows, int size) {
    out.resets()[index] = reset < 0 ? NOWHERE : place(runs[reset], rows[reset]);
    for (int c = 0; c < classes.length; c++) {
      if (takes[c] == Takes.EARLIEST) {
        putColumns(c, index, earliest(c, Math.max(reset, 0), runs, rows, size), runs, rows);
      } else if (takes[c] == Takes.ALL) {
        putAll(c, index, Math.max(reset, 0), runs, rows, size);
      }
    }
  }

  /** The entry with the value of the earliest version of a class, from an entry on; or -1. */
  private int earliest(int c, int first, int[] runs, int[] rows, int size) {
    int winner = -1;
    long winnerAt = 0;
    for (int entry = first; entry < size; entry++) {
      if (carries(c, runs[entry], rows[entry])) {
        long at = byRun ? 0 : columnsAt(c, runs[entry], rows[entry]);
        if (winner < 0 || at < winnerAt) {
          winner = entry;
          winnerAt = at;
        }
      }
    }
    return winner;
  }

  private void putAll(int c, int index, int first, int[] runs, int[] rows, int size) {
    Contributions all = Objects.requireNonNull(out.contributions(c), "a class that takes all");
    all.begin();
    boolean isSet = false;
    long newest = Long.MIN_VALUE;
    for (int entry = first; entry < size; entry++) {
      if (carries(c, runs[entry], rows[entry])) {
        all.add(place(runs[entry], rows[entry]));
        isSet = true;
        newest = stamps ? Math.max(newest, columnsAt(c, runs[entry], rows[entry])) : 0;
      }
    }
    all.end();
    if (stamps) {
      put(out.columns(c), index, isSet, newest);
    }
  }

  private static boolean survives(long at, int entry, long deletedAt, int tombstone) {
    return tombstone < 0 || at > deletedAt || (at == deletedAt && entry >= tombstone);
  }

  private void putColumns(int c, int index, int entry, int[] runs, int[] rows) {
    out.places(c)[index] = entry < 0 ? NOWHERE : place(runs[entry], rows[entry]);
    if (stamps) {
      put(
          out.columns(c),
          index,
          entry >= 0,
          entry < 0 ? 0 : columnsAt(c, runs[entry], rows[entry]));
    }
  }

  private void putStamps(int index, int write, int tombstone, int[] runs, int[] rows) {
    long writtenAt = write < 0 ? Long.MIN_VALUE : writtenAt(runs[write], rows[write]);
    long deletedAt = tombstone < 0 ? Long.MIN_VALUE : deletedAt(runs[tombstone], rows[tombstone]);
    put(out.written(), index, write >= 0, writtenAt);
    put(out.deleted(), index, tombstone >= 0, deletedAt);
    put(out.versions(), index, true, Math.max(writtenAt, deletedAt));
  }

  private static void put(Stamps stamps, int index, boolean set, long at) {
    if (set) {
      stamps.set(index, at);
    } else {
      stamps.clear(index);
    }
  }

  private boolean isWritten(int run, int row) {
    Presence presence = written[run];
    return presence == Presence.ALWAYS
        || (presence == Presence.PER_ROW && cursors[run].written().isSet(row));
  }

  private boolean isDeleted(int run, int row) {
    Presence presence = deleted[run];
    return presence == Presence.ALWAYS
        || (presence == Presence.PER_ROW && cursors[run].deleted().isSet(row));
  }

  private boolean carries(int c, int run, int row) {
    Presence presence = classes[c][run];
    return presence == Presence.ALWAYS
        || (presence == Presence.PER_ROW && cursors[run].columns(c).isSet(row));
  }

  private long writtenAt(int run, int row) {
    return written[run] == Presence.ALWAYS
        ? cursors[run].versions().at(row)
        : cursors[run].written().at(row);
  }

  private long deletedAt(int run, int row) {
    return deleted[run] == Presence.ALWAYS
        ? cursors[run].versions().at(row)
        : cursors[run].deleted().at(row);
  }

  private long columnsAt(int c, int run, int row) {
    return classes[c][run] == Presence.ALWAYS
        ? cursors[run].versions().at(row)
        : cursors[run].columns(c).at(row);
  }
}
