package io.keylake.tables.repair;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.merge.Cell;
import io.keylake.merge.WrittenRow;
import io.keylake.tables.schema.ColumnChange;
import io.keylake.tables.schema.SchemaChange;
import io.keylake.tables.spec.KeyedSchema;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.iceberg.types.Type;
import org.jspecify.annotations.Nullable;

/** The columns that a table has beside the first ones, and its model as they change. */
final class AddedColumns {
  private static final List<String> FIRST = List.of("a", "b", "c", "d", "e");

  /** Their types by name. */
  final Map<String, Type> types = new TreeMap<>();

  private final CommitTwin twin;

  AddedColumns(CommitTwin twin) {
    this.twin = twin;
  }

  /** The value columns of the table that are compared. */
  List<String> columns() {
    return Stream.concat(FIRST.stream(), types.keySet().stream()).toList();
  }

  /** The leaves that rows are written with. */
  List<String> leaves() {
    return Stream.concat(Stream.of("a", "b", "d"), types.keySet().stream()).toList();
  }

  /**
   * Makes a change, and follows it: the values of a column have its new name, and those of a
   * dropped one are gone, also for a later column of the same name.
   *
   * @param type of the column as it is now; null where it is dropped
   */
  void change(ColumnChange change, String column, @Nullable Type type) {
    SchemaChange.make(twin.changed, List.of(change));
    String before = change.path().get(0);
    types.remove(before);
    if (type != null) {
      types.put(column, type);
    }
    UnaryOperator<Map<String, Cell>> moved =
        cells -> moved(cells, before, type == null ? null : column);
    twin.table.followColumns(moved);
    twin.made.replaceAll(commit -> moved(commit, moved));
    twin.saw(change.getClass().getSimpleName());
  }

  private static Map<String, Cell> moved(
      Map<String, Cell> cells, String from, @Nullable String to) {
    Map<String, Cell> moved = new TreeMap<>(cells);
    Cell cell = moved.remove(from);
    if (cell != null && to != null) {
      moved.put(to, cell);
    }
    return moved;
  }

  private static CommitTwin.Made moved(
      CommitTwin.Made commit, UnaryOperator<Map<String, Cell>> cells) {
    Map<String, List<WrittenRow>> files = new LinkedHashMap<>(commit.files());
    files.replaceAll((name, rows) -> rows.stream().map(row -> moved(row, cells)).toList());
    return new CommitTwin.Made(
        commit.snapshotId(), files, commit.replaces(), commit.dropped(), commit.undone());
  }

  private static WrittenRow moved(WrittenRow row, UnaryOperator<Map<String, Cell>> cells) {
    return new WrittenRow(row.key(), row.version(), row.isTombstone(), cells.apply(row.cells()));
  }

  /** The table has these columns and no others. */
  void check() {
    Map<String, Type> there = new TreeMap<>();
    KeyedSchema.of(twin.table.table)
        .values()
        .forEach(field -> there.put(field.name(), field.type()));
    FIRST.forEach(there::remove);
    there.remove("t");
    assertEquals(types, there);
  }
}
