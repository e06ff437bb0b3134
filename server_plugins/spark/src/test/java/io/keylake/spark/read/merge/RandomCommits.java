package io.keylake.spark.read.merge;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeLaw;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Random commits to a table, some of which are late, and what the law says of all of them. */
public final class RandomCommits {
  private static final List<String> LEAVES = List.of("t", "a", "b", "g", "d", "m", "f");

  private final Random random;
  private final ParquetTable table;
  private final int keys;
  private final List<List<WrittenRow>> written = new ArrayList<>();

  /**
   * @param keys the number of keys that are written
   */
  public RandomCommits(Random random, ParquetTable table, int keys) {
    this.random = random;
    this.table = table;
    this.keys = keys;
  }

  /**
   * Makes commits.
   *
   * @param rows the most rows of one
   * @param mayDelete some rows are tombstones
   * @return all that is to be known of each key by the law, in key order
   */
  public List<StoredRow> make(int commits, int rows, boolean mayDelete) throws IOException {
    for (int i = 0; i < commits; i++) {
      List<WrittenRow> commit = commit(1 + random.nextInt(rows), mayDelete);
      written.add(commit);
      table.commitFiles(files(commit));
    }
    return historyOf(written.size());
  }

  /** All that is to be known of each key after the first commits, by the law, in key order. */
  public List<StoredRow> historyOf(int commits) {
    return MergeLaw.history(written.subList(0, commits), ParquetTable.REDUCTIONS);
  }

  private List<WrittenRow> commit(int count, boolean mayDelete) {
    boolean isLate = random.nextInt(4) == 0;
    boolean isSparse = random.nextInt(3) == 0;
    long base = 20L * written.size() - (isLate ? 30 : 0);
    List<String> carried = LEAVES.stream().filter(leaf -> random.nextInt(4) > 0).toList();
    List<WrittenRow> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      long version = base + random.nextInt(20);
      boolean deletes = mayDelete && random.nextInt(6) == 0;
      Map<String, Cell> cells = new HashMap<>();
      for (String leaf : carried) {
        if (!deletes && !(isSparse && random.nextBoolean())) {
          cells.put(leaf, cell(leaf, version));
        }
      }
      long second = table.schema.key().size() > 1 ? random.nextInt(3) : 0;
      rows.add(new WrittenRow(new Key(random.nextInt(keys), second), version, deletes, cells));
    }
    return rows;
  }

  private Cell cell(String leaf, long version) {
    if (leaf.equals("t") && table.schema.ordering() != null) {
      return new Cell(version, List.of(version));
    }
    boolean isOwn = table.schema.ordering() == null && random.nextInt(4) == 0;
    List<Long> values = new ArrayList<>();
    for (int i = leaf.equals("g") ? 2 : 1; i > 0; i--) {
      values.add(random.nextInt(6) == 0 ? null : Long.valueOf(random.nextInt(1000)));
    }
    return new Cell(isOwn ? version - random.nextInt(15) : version, values);
  }

  /** The files of a commit, one after the other in key order. */
  private List<List<StoredRow>> files(List<WrittenRow> rows) {
    List<List<StoredRow>> files = new ArrayList<>(List.of(new ArrayList<>()));
    for (StoredRow row : MergeLaw.history(List.of(rows), ParquetTable.REDUCTIONS)) {
      if (!files.get(files.size() - 1).isEmpty() && random.nextInt(40) == 0) {
        files.add(new ArrayList<>());
      }
      files.get(files.size() - 1).add(row);
    }
    return files;
  }
}
