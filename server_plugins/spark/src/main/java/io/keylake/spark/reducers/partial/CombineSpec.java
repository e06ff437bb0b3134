package io.keylake.spark.reducers.partial;

import io.keylake.tables.spec.HelperColumn;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.IntegerType;
import org.jspecify.annotations.Nullable;

/**
 * The columns of rows that say whether two may be combined, and how.
 *
 * @param types of all columns
 * @param key where the columns lie in which rows that are combined are the same
 * @param version where the version of the row lies, or -1: all rows have one
 * @param accumulated the columns that are combined
 * @param states where the states of combined columns go, or -1
 */
record CombineSpec(
    List<DataType> types, List<Integer> key, int version, List<Accumulated> accumulated, int states)
    implements Serializable {

  /** A column with its reducer. */
  record Accumulated(int position, Reducer reducer) implements Serializable {}

  /**
   * The columns by which rows of one write are combined; null where each row has to reach the
   * writer:
   *
   * <ol>
   *   <li>Rows that delete or carry different columns are not alike.
   *   <li>A register wants the newest row whole, and of rows of one version chooses by their bytes.
   *   <li>Reducers that do not commute want the order in which rows are stored.
   *   <li>The writer refuses some maps and fixed values, and has to see them.
   * </ol>
   *
   * @param rows as they go to the writer, none of which takes back what others contribute
   */
  static @Nullable CombineSpec of(List<Attribute> rows, KeyedSchema schema) {
    List<String> names = rows.stream().map(Attribute::name).toList();
    boolean areAlike =
        !names.contains(HelperColumn.OP) && !names.contains(HelperColumn.COLUMNS_FROM);
    String ordering = schema.spec().ordering();
    List<Accumulated> accumulated = new ArrayList<>();
    for (NestedField field : schema.values()) {
      Reducer reducer = schema.spec().reducer(field.name());
      if (names.contains(field.name()) && reducer.commutes() && !isLookedAt(field)) {
        accumulated.add(new Accumulated(names.indexOf(field.name()), reducer));
      } else if (names.contains(field.name()) && !field.name().equals(ordering)) {
        return null;
      }
    }
    if (!areAlike || accumulated.isEmpty()) {
      return null;
    }
    int given = names.indexOf(HelperColumn.VERSION);
    return new CombineSpec(
        rows.stream().map(Attribute::dataType).toList(),
        schema.key().stream().map(field -> names.indexOf(field.name())).toList(),
        given >= 0 || ordering == null ? given : names.indexOf(ordering),
        accumulated,
        names.indexOf(HelperColumn.COMBINED));
  }

  /** The writer may refuse a value of the type. */
  private static boolean isLookedAt(NestedField field) {
    return TypeUtil.find(
            new Schema(field),
            type ->
                type.isMapType() || type.typeId() == TypeID.FIXED || type.typeId() == TypeID.UUID)
        != null;
  }

  /**
   * The text that plans show: by which key, and what is done with which column.
   *
   * @param rows the columns
   */
  String text(List<Attribute> rows) {
    List<String> by = key.stream().map(position -> rows.get(position).name()).toList();
    List<String> of =
        accumulated.stream()
            .map(column -> column.reducer().text() + " of " + rows.get(column.position()).name())
            .toList();
    return "by %s: %s".formatted(by, of);
  }

  boolean hasIntVersion() {
    DataType type = types.get(version);
    return type instanceof IntegerType || type instanceof DateType;
  }
}
