package io.keylake.tables.planning;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeLaw;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** Random commits to a table in memory, and all rows that they leave, by the law. */
public final class RandomWrites {
  private static final List<String> LEAVES = List.of("l", "t", "a", "b", "g", "d");

  private RandomWrites() {}

  /** Commits to the table, and gives every key that was written, in key order. */
  public static List<StoredRow> commit(Random random, MemoryTable table, String versions) {
    boolean isCompound = table.schema.key().size() > 1;
    Clock clock = new Clock(random, versions);
    List<List<WrittenRow>> written = new ArrayList<>();
    int commits = 1 + random.nextInt(6);
    for (int commit = 1; commit <= commits; commit++) {
      clock.tick(commit);
      if ((commit + commits) % 5 == 0) {
        table.changeBuckets(2 * table.schema.spec().buckets());
      }
      List<WrittenRow> rows = rows(random, clock, isCompound);
      written.add(rows);
      table.commitRows(files(random, table, rows));
    }
    return MergeLaw.history(written, MemoryTable.REDUCTIONS);
  }

  /** Where the versions of a commit come from: every table has its own habit. */
  private static final class Clock {
    private enum Habit {
      /** Commits come in turn, some of them late, and each has a range of versions. */
      LATE,
      /** A commit has two versions at most, which other commits have as well. */
      TOUCHING,
      /** As far apart as versions can be. */
      EXTREME
    }

    private final Random random;
    private final String versions;
    private final Habit habit;
    private long base;

    Clock(Random random, String versions) {
      this.random = random;
      this.versions = versions;
      this.habit = Habit.values()[random.nextInt(Habit.values().length)];
    }

    void tick(int commit) {
      if (versions.equals("commit")) {
        base = commit / 2;
      } else if (habit == Habit.TOUCHING) {
        base = 10 * random.nextInt(3);
      } else {
        base = commit * 10L - (random.nextInt(4) == 0 ? 25 : 0);
      }
    }

    long version() {
      if (versions.equals("commit")) {
        return base;
      }
      return switch (habit) {
        case LATE -> base + random.nextInt(12);
        case TOUCHING -> base + 10 * random.nextInt(2);
        case EXTREME ->
            random.nextInt(4) > 0
                ? base
                : random.nextBoolean() ? Long.MIN_VALUE + random.nextInt(2) : Long.MAX_VALUE;
      };
    }

    /** The version of a column that has its own, mostly an older one. */
    long ownVersion(long version) {
      return switch (habit) {
        case LATE -> version - random.nextInt(12);
        case TOUCHING -> version - 10 * random.nextInt(3);
        case EXTREME -> version();
      };
    }
  }

  /** The rows of one commit. */
  private static List<WrittenRow> rows(Random random, Clock clock, boolean isCompound) {
    List<String> carried = LEAVES.stream().filter(leaf -> random.nextInt(3) > 0).toList();
    int deletions = random.nextInt(6) == 0 ? 10 : Math.max(0, random.nextInt(4) - 2);
    boolean isSparse = random.nextInt(3) == 0;
    boolean hasOwnVersions = !clock.versions.equals("commit") && random.nextInt(3) == 0;
    List<WrittenRow> rows = new ArrayList<>();
    for (int i = 1 + random.nextInt(25); i > 0; i--) {
      long version = clock.version();
      boolean deletes = random.nextInt(10) < deletions;
      Map<String, Cell> cells = new HashMap<>();
      for (String leaf : carried) {
        boolean isKey = isCompound && leaf.equals("l");
        if (!deletes && !isKey && !(isSparse && random.nextBoolean())) {
          cells.put(leaf, cell(random, clock, leaf, version, hasOwnVersions));
        }
      }
      Key key = new Key(random.nextInt(30), isCompound ? random.nextInt(3) : 0);
      rows.add(new WrittenRow(key, version, deletes, cells));
    }
    return rows;
  }

  private static Cell cell(
      Random random, Clock clock, String leaf, long version, boolean hasOwnVersions) {
    if (leaf.equals("t") && clock.versions.equals("ordering")) {
      return new Cell(version, List.of(version));
    }
    long at = hasOwnVersions ? clock.ownVersion(version) : version;
    List<Long> values = new ArrayList<>();
    for (int i = leaf.equals("g") ? 2 : 1; i > 0; i--) {
      values.add(random.nextInt(5) == 0 ? null : Long.valueOf(random.nextInt(1000)));
    }
    return new Cell(at, values);
  }

  /** The files of a commit: by bucket, then in key ranges, which overlap where a task was split. */
  private static List<List<StoredRow>> files(
      Random random, MemoryTable table, List<WrittenRow> rows) {
    boolean isSplit = random.nextInt(5) == 0;
    Map<Integer, List<List<StoredRow>>> byBucket = new TreeMap<>();
    for (StoredRow row : MergeLaw.history(List.of(rows), MemoryTable.REDUCTIONS)) {
      List<List<StoredRow>> files =
          byBucket.computeIfAbsent(table.bucket(row.key()), bucket -> new ArrayList<>());
      if (files.isEmpty() || random.nextInt(6) == 0) {
        files.add(new ArrayList<>());
      }
      files.get(isSplit ? random.nextInt(files.size()) : files.size() - 1).add(row);
    }
    return byBucket.values().stream()
        .flatMap(List::stream)
        .filter(file -> !file.isEmpty())
        .toList();
  }
}
