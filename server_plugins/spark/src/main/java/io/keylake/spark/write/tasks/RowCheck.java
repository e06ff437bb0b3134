package io.keylake.spark.write.tasks;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.keys.RowHash;
import io.keylake.spark.write.tasks.WriteLayout.Column;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.TableSpec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.FixedType;
import org.apache.iceberg.types.Types.MapType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** Refuses rows that only their values show to be bad, and reads what a row says of itself. */
final class RowCheck {
  private final WriteLayout layout;
  private final TableSpec spec;
  private final List<Column> checked = new ArrayList<>();
  private final Map<UTF8String, Integer> valuesByName = new HashMap<>(); // in lower case
  private final boolean[] carried;
  private @Nullable ArrayData lastNames; // those that `carried` is of
  private final boolean accumulates;

  RowCheck(WriteLayout layout, TableSpec spec) {
    this.layout = layout;
    this.spec = spec;
    this.carried = new boolean[layout.values().size()];
    this.accumulates = layout.values().stream().anyMatch(column -> column.reducer().accumulates());
    for (int i = 0; i < layout.values().size(); i++) {
      valuesByName.put(lower(layout.values().get(i).field().name()), i);
    }
    List<Column> all = new ArrayList<>(layout.key());
    all.addAll(layout.values());
    for (Column column : all) {
      if (isChecked(column.field().type())) {
        checked.add(column);
      }
    }
  }

  private static UTF8String lower(String name) {
    return UTF8String.fromString(name).toLowerCase();
  }

  private static boolean isChecked(Type type) {
    return switch (type.typeId()) {
      case UUID, FIXED, MAP -> true;
      case STRUCT ->
          type.asStructType().fields().stream().anyMatch(field -> isChecked(field.type()));
      case LIST -> isChecked(type.asListType().elementType());
      default -> false;
    };
  }

  /** The effect of a row on its key. */
  enum Operation {
    WRITE,
    DELETE,
    /** Takes contributions back that were made before, and leaves registers as they are. */
    RETRACT,
    /** The state before a change, of columns that need only the one after it. */
    NOTHING
  }

  void check(InternalRow row) {
    for (Column column : layout.key()) {
      if (row.isNullAt(column.position())) {
        throw new KeylakeException(
            BAD_ROWS,
            "key column '%s' is null in the row with key %s; every row needs its whole key"
                .formatted(column.field().name(), layout.keyOf(row)));
      }
    }
    for (Column column : checked) {
      checkValue(row, column.position(), column.field().type(), column, row);
    }
  }

  /**
   * @param holder a row, a struct or an array
   * @param at the value's position in it
   */
  private void checkValue(
      SpecializedGetters holder, int at, Type type, Column column, InternalRow row) {
    if (holder.isNullAt(at) || !isChecked(type)) {
      return;
    }
    switch (type.typeId()) {
      case UUID -> RowHash.uuid(holder.getUTF8String(at));
      case FIXED -> checkLength(holder.getBinary(at).length, (FixedType) type, column, row);
      case STRUCT -> {
        List<NestedField> fields = type.asStructType().fields();
        InternalRow struct = holder.getStruct(at, fields.size());
        for (int i = 0; i < fields.size(); i++) {
          checkValue(struct, i, fields.get(i).type(), column, row);
        }
      }
      case LIST -> checkElements(holder.getArray(at), type.asListType().elementType(), column, row);
      default -> checkMap(holder.getMap(at), type.asMapType(), column, row);
    }
  }

  private void checkElements(ArrayData array, Type type, Column column, InternalRow row) {
    for (int i = 0; i < array.numElements(); i++) {
      checkValue(array, i, type, column, row);
    }
  }

  private void checkLength(int given, FixedType type, Column column, InternalRow row) {
    if (given != type.length()) {
      throw new KeylakeException(
          BAD_ROWS,
          "column '%s' holds %d bytes exactly, and the row with key %s has %d"
              .formatted(column.field().name(), type.length(), layout.keyOf(row), given));
    }
  }

  private void checkMap(MapData map, MapType type, Column column, InternalRow row) {
    DataType keyType = SparkSchemaUtil.convert(type.keyType());
    Set<Object> seen = new HashSet<>();
    ArrayData keys = map.keyArray();
    for (int i = 0; i < keys.numElements(); i++) {
      Object key = keys.get(i, keyType);
      if (!seen.add(key instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : key)) {
        throw new KeylakeException(
            BAD_ROWS,
            "column '%s' has a map with the key %s twice in the row with key %s"
                .formatted(column.field().name(), key, layout.keyOf(row)));
      }
    }
    checkElements(keys, type.keyType(), column, row);
    checkElements(map.valueArray(), type.valueType(), column, row);
  }

  /**
   * The operation of a row of apply_changes: {@code -U} and {@code -D} take back what accumulators
   * count; where there are only registers, the former does nothing, and the latter deletes.
   */
  Operation operation(InternalRow row) {
    String op = row.isNullAt(layout.op()) ? "null" : row.getUTF8String(layout.op()).toString();
    return switch (op) {
      case "I", "U", "c", "r", "u", "+I", "+U" -> Operation.WRITE;
      case "D", "d" -> Operation.DELETE;
      case "-U" -> accumulates ? Operation.RETRACT : Operation.NOTHING;
      case "-D" -> accumulates ? Operation.RETRACT : Operation.DELETE;
      default ->
          throw new KeylakeException(
              BAD_ROWS,
              "the operation is '%s' in the row with key %s; it is one of I, U, D, c, r, u, d, +I, +U, -U, -D"
                  .formatted(op, layout.keyOf(row)));
    };
  }

  /**
   * The columns that {@code columns_from} names in this row; the array is used again for the next
   * row. Rows that follow each other name the same ones, mostly.
   */
  boolean[] carried(InternalRow row) {
    if (row.isNullAt(layout.columnsFrom())) {
      throw badList(row, "null");
    }
    ArrayData names = row.getArray(layout.columnsFrom());
    if (names.equals(lastNames)) {
      return carried;
    }
    lastNames = null;
    if (names.numElements() == 0 && !layout.takesEmptyLists()) {
      throw badList(row, "empty");
    }
    java.util.Arrays.fill(carried, false);
    for (int i = 0; i < names.numElements(); i++) {
      UTF8String name = names.isNullAt(i) ? null : names.getUTF8String(i);
      Integer value = name == null ? null : valuesByName.get(name.toLowerCase());
      if (name == null || name.numBytes() == 0) {
        throw badList(row, "a list with an empty name");
      }
      if (value == null) {
        throw badList(
            row,
            "a list with '" + name + "', which is not a value column of the frame and the table");
      }
      if (carried[value]) {
        throw badList(row, "a list with '" + name + "' twice");
      }
      carried[value] = true;
    }
    carryOrdering();
    checkGroups(row);
    lastNames = names.copy();
    return carried;
  }

  /** A row that is versioned by its ordering column carries it, named or not. */
  private void carryOrdering() {
    Integer ordering = spec.ordering() == null ? null : valuesByName.get(lower(spec.ordering()));
    if (ordering != null && isVersion(layout.values().get(ordering))) {
      carried[ordering] = true;
    }
  }

  private boolean isVersion(Column column) {
    return layout.version() != null && layout.version().position() == column.position();
  }

  private void checkGroups(InternalRow row) {
    for (Map.Entry<String, TableSpec.ColumnGroup> group : spec.columnGroups().entrySet()) {
      long named =
          group.getValue().columns().stream()
              .map(name -> valuesByName.get(lower(name)))
              .filter(value -> value != null && carried[value])
              .count();
      if (named > 0 && named < group.getValue().columns().size()) {
        throw badList(
            row,
            "a list with a part of the column group '"
                + group.getKey()
                + "', which is written whole");
      }
    }
  }

  private KeylakeException badList(InternalRow row, String what) {
    return new KeylakeException(
        BAD_ROWS,
        "columns_from is %s in the row with key %s; name the columns that the row carries, each once"
            .formatted(what, layout.keyOf(row)));
  }
}
