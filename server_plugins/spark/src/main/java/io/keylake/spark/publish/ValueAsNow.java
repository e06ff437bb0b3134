package io.keylake.spark.publish;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.ListType;
import org.apache.iceberg.types.Types.MapType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;
import org.jspecify.annotations.Nullable;

/**
 * Values of an earlier time as the types are now. Members of structs are found by their ids: a cast
 * takes them by their places, where another one may be now.
 */
final class ValueAsNow {
  private ValueAsNow() {}

  /**
   * The column of rows of an earlier time.
   *
   * @param was the columns of that time
   */
  static Column of(NestedField now, Schema was, ColumnByName rows) {
    NestedField before = was.findField(now.fieldId());
    @Nullable Column value = before == null ? null : rows.named(before.name());
    return member(now, before, value).as(now.name());
  }

  /** The columns of some rows. */
  interface ColumnByName {
    Column named(String name);
  }

  private static Column member(NestedField now, @Nullable NestedField was, @Nullable Column value) {
    return was == null || value == null
        ? functions.lit(now.initialDefault()).cast(SparkSchemaUtil.convert(now.type()))
        : value(value, was.type(), now.type());
  }

  private static Column value(Column value, Type was, Type now) {
    if (was.equals(now)) {
      return value;
    }
    if (now.isStructType()) {
      return struct(value, was.asStructType(), now.asStructType());
    }
    if (now.isListType()) {
      ListType before = was.asListType();
      ListType after = now.asListType();
      return functions.transform(
          value, element -> value(element, before.elementType(), after.elementType()));
    }
    if (now.isMapType()) { // of which a key does not change
      MapType before = was.asMapType();
      MapType after = now.asMapType();
      return functions.transform_values(
          value, (key, each) -> value(each, before.valueType(), after.valueType()));
    }
    return value.cast(SparkSchemaUtil.convert(now));
  }

  private static Column struct(Column value, StructType was, StructType now) {
    List<Column> members = new ArrayList<>();
    for (NestedField field : now.fields()) {
      NestedField before = was.field(field.fieldId());
      @Nullable Column member = before == null ? null : value.getField(before.name());
      members.add(member(field, before, member).as(field.name()));
    }
    Column whole = functions.struct(members.toArray(Column[]::new));
    return functions.when(value.isNotNull(), whole);
  }
}
