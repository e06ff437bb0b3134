package io.keylake.spark.write.tasks;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeLaw;
import io.keylake.merge.Reduction;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.spark.write.tasks.WriteLayout.Column;
import io.keylake.spark.write.tasks.WriteLayout.Helper;
import io.keylake.tables.spec.Reducer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;

/** The fold over rows in memory, compared with the law by brute force. */
final class FoldInMemory {
  private static final int KEY = 0;
  private static final int VERSION = 1;
  private static final int ROW_ORDER = 2;
  private static final int VALUES = 3;

  /** The values of a leaf, and where they lie in a row: each followed by its version. */
  private record Leaf(String name, int columns, int position) {}

  private final List<Leaf> leaves = new ArrayList<>();
  private final Map<String, Reduction> reductions;
  private final RowFold fold;
  private final int width;

  /**
   * @param columns the value columns of each version leaf
   * @param saysOrder whether the write has a column with the order of its rows
   */
  FoldInMemory(
      Map<String, List<String>> columns, Map<String, Reduction> reductions, boolean saysOrder) {
    this.reductions = reductions;
    List<Column> values = new ArrayList<>();
    int position = VALUES;
    for (Map.Entry<String, List<String>> leaf : columns.entrySet()) {
      leaves.add(new Leaf(leaf.getKey(), leaf.getValue().size(), position));
      for (String column : leaf.getValue()) {
        Reducer reducer = reducer(reductions.getOrDefault(column, Reduction.LATEST));
        Helper own = helper(column + "_version", position + 1);
        values.add(column(column, position, own, reducer));
        position += 2;
      }
    }
    width = position;
    WriteLayout layout =
        new WriteLayout(
            List.of(column("k", KEY, null, Reducer.LATEST)),
            values,
            List.of(),
            -1,
            -1,
            helper("version", VERSION),
            -1,
            false,
            false,
            false,
            -1,
            saysOrder ? ROW_ORDER : -1,
            -1,
            -1,
            null);
    fold = new RowFold(layout, new RowVersions(layout, null));
  }

  private static Helper helper(String name, int position) {
    return new Helper(name, position, DataTypes.LongType);
  }

  private static Column column(String name, int position, Helper own, Reducer reducer) {
    return new Column(name, position, DataTypes.LongType, null, -1, -1, reducer, own);
  }

  private static Reducer reducer(Reduction reduction) {
    return Reducer.of(Reducer.Kind.valueOf(reduction.name()));
  }

  /** What is stored of rows of one key, which stand in the order of the write. */
  private StoredRow folded(List<WrittenRow> rows) {
    List<Integer> sorted =
        IntStream.range(0, rows.size())
            .boxed()
            .sorted(Comparator.comparingLong(i -> rows.get(i).version()))
            .toList();
    fold.start();
    for (int i : sorted) {
      WrittenRow row = rows.get(i);
      if (row.isTombstone()) {
        fold.delete(internal(row, i), row.version());
      } else {
        fold.write(internal(row, i), row.version(), carried(row));
      }
    }
    Map<String, Cell> cells = new HashMap<>();
    int value = 0;
    for (Leaf leaf : leaves) {
      if (fold.carries(value)) {
        List<Long> values = new ArrayList<>();
        for (int i = 0; i < leaf.columns(); i++) {
          assertEquals(fold.winner(value), fold.winner(value + i), "a group is won as one");
          values.add((Long) fold.value(value + i));
        }
        cells.put(leaf.name(), new Cell(fold.at(value), values));
      }
      value += leaf.columns();
    }
    StoredRow stored =
        new StoredRow(
            rows.get(0).key(),
            fold.isWritten() ? fold.writtenAt() : null,
            fold.isDeleted() ? fold.deletedAt() : null,
            cells);
    assertEquals(stored.version(), fold.version());
    return stored;
  }

  private InternalRow internal(WrittenRow row, int number) {
    Object[] fields = new Object[width];
    fields[KEY] = row.key().first();
    fields[VERSION] = row.version();
    fields[ROW_ORDER] = (long) number;
    for (Leaf leaf : leaves) {
      Cell cell = row.cells().get(leaf.name());
      for (int i = 0; cell != null && i < leaf.columns(); i++) {
        fields[leaf.position() + 2 * i] = cell.values().get(i);
        fields[leaf.position() + 2 * i + 1] = cell.at();
      }
    }
    return new GenericInternalRow(fields);
  }

  private boolean[] carried(WrittenRow row) {
    List<Boolean> carried = new ArrayList<>();
    for (Leaf leaf : leaves) {
      for (int i = 0; i < leaf.columns(); i++) {
        carried.add(row.cells().containsKey(leaf.name()));
      }
    }
    boolean[] array = new boolean[carried.size()];
    for (int i = 0; i < array.length; i++) {
      array[i] = carried.get(i);
    }
    return array;
  }

  void assertLaw(List<WrittenRow> rows, String message) {
    Map<Key, List<WrittenRow>> byKey =
        rows.stream().collect(Collectors.groupingBy(WrittenRow::key));
    for (List<WrittenRow> ofKey : byKey.values()) {
      assertEquals(MergeLaw.history(List.of(ofKey), reductions), List.of(folded(ofKey)), message);
    }
  }
}
