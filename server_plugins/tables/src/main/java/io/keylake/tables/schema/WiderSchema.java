package io.keylake.tables.schema;

import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.DecimalType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * The changes after which a table can hold rows of other columns: what it lacks is added, and what
 * is too narrow is widened, members of columns, too. Nothing is dropped or narrowed. The key and
 * the ordering column stay as they are.
 */
public final class WiderSchema {
  private final boolean caseSensitive;
  private final List<ColumnChange> changes = new ArrayList<>();

  private WiderSchema(boolean caseSensitive) {
    this.caseSensitive = caseSensitive;
  }

  /**
   * @param rows the columns of the rows; all that is nested may be null
   */
  public static List<ColumnChange> changes(
      KeyedSchema table, List<NestedField> rows, boolean caseSensitive) {
    Set<String> fixed = new HashSet<>(table.spec().key());
    if (table.spec().ordering() != null) {
      fixed.add(table.spec().ordering());
    }
    WiderSchema wider = new WiderSchema(caseSensitive);
    for (NestedField row : rows) {
      NestedField there = wider.find(table.visible().columns(), row.name());
      if (there == null || !fixed.contains(there.name())) {
        wider.field(List.of(), there, row);
      }
    }
    return List.copyOf(wider.changes);
  }

  private @Nullable NestedField find(List<NestedField> fields, String name) {
    return fields.stream()
        .filter(
            field ->
                caseSensitive ? field.name().equals(name) : field.name().equalsIgnoreCase(name))
        .findFirst()
        .orElse(null);
  }

  private void field(List<String> parent, @Nullable NestedField there, NestedField row) {
    List<String> path = new ArrayList<>(parent);
    if (there == null) {
      path.add(row.name());
      changes.add(new ColumnChange.Add(path, row.type(), row.doc(), null));
    } else {
      path.add(there.name());
      type(path, there.type(), row.type());
    }
  }

  private void type(List<String> path, Type there, Type row) {
    if (there instanceof StructType struct && row instanceof StructType ofRow) {
      for (NestedField each : ofRow.fields()) {
        field(path, find(struct.fields(), each.name()), each);
      }
    } else if (there.isNestedType() && there.typeId() == row.typeId()) {
      // An array has an element; a map has a key, which stays as it is, and a value.
      NestedField inner = last(there.asNestedType().fields());
      List<String> below = new ArrayList<>(path);
      below.add(inner.name());
      type(below, inner.type(), last(row.asNestedType().fields()).type());
    } else if (row.isPrimitiveType()
        && !there.equals(row)
        && TypeUtil.isPromotionAllowed(there, row.asPrimitiveType())) {
      changes.add(new ColumnChange.Widen(path, row));
    }
  }

  private static NestedField last(List<NestedField> fields) {
    return fields.get(fields.size() - 1);
  }

  /** Each value of one type is one of the other. */
  static boolean isWider(Type from, Type to) {
    return switch (from.typeId()) {
      case INTEGER -> to.typeId() == Type.TypeID.LONG;
      case FLOAT -> to.typeId() == Type.TypeID.DOUBLE;
      case DECIMAL ->
          to instanceof DecimalType wide
              && wide.scale() == ((DecimalType) from).scale()
              && wide.precision() >= ((DecimalType) from).precision();
      default -> false;
    };
  }
}
