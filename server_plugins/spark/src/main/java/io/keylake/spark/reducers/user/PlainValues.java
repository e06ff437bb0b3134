package io.keylake.spark.reducers.user;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.tables.KeylakeException;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** Values as reducers of users have them, and as Catalyst has them. */
final class PlainValues {
  private PlainValues() {}

  /** The value at a place; nothing of the row is kept. */
  public static @Nullable Object plain(SpecializedGetters row, int ordinal, DataType type) {
    if (row.isNullAt(ordinal)) {
      return null;
    }
    if (type instanceof ArrayType list) {
      return elements(row.getArray(ordinal), list.elementType());
    }
    if (type instanceof MapType map) {
      return entries(row.getMap(ordinal), map);
    }
    if (type instanceof StructType struct) {
      return members(row.getStruct(ordinal, struct.length()), struct);
    }
    Object value = row.get(ordinal, type);
    if (value instanceof UTF8String text) {
      return text.toString();
    }
    if (value instanceof Decimal decimal) {
      return decimal.toJavaBigDecimal();
    }
    if (value instanceof byte[] bytes) {
      return bytes.clone();
    }
    if (type instanceof DateType) {
      return LocalDate.ofEpochDay((Integer) value);
    }
    if (type instanceof TimestampType) {
      return DateTimeUtils.microsToInstant((Long) value);
    }
    return type instanceof TimestampNTZType
        ? DateTimeUtils.microsToLocalDateTime((Long) value)
        : value;
  }

  private static List<@Nullable Object> elements(ArrayData array, DataType type) {
    List<@Nullable Object> elements = new ArrayList<>();
    for (int i = 0; i < array.numElements(); i++) {
      elements.add(plain(array, i, type));
    }
    return elements;
  }

  private static Map<Object, @Nullable Object> entries(MapData map, MapType type) {
    List<@Nullable Object> keys = elements(map.keyArray(), type.keyType());
    List<@Nullable Object> values = elements(map.valueArray(), type.valueType());
    Map<Object, @Nullable Object> entries = new LinkedHashMap<>();
    for (int i = 0; i < keys.size(); i++) {
      entries.put(keys.get(i), values.get(i));
    }
    return entries;
  }

  private static Map<String, @Nullable Object> members(InternalRow row, StructType type) {
    Map<String, @Nullable Object> members = new LinkedHashMap<>();
    for (int i = 0; i < type.length(); i++) {
      members.put(type.fields()[i].name(), plain(row, i, type.fields()[i].dataType()));
    }
    return members;
  }

  /** The value as Catalyst has it; one of another type is refused. */
  public static @Nullable Object catalyst(@Nullable Object value, DataType type) {
    if (value == null) {
      return null;
    }
    try {
      return fitted(value, type);
    } catch (ClassCastException | ArithmeticException e) {
      throw new KeylakeException(
          BAD_ROWS,
          "the reducer gave %s, a %s, for a column of type %s"
              .formatted(value, value.getClass().getName(), type.catalogString()));
    }
  }

  private static Object fitted(Object value, DataType type) {
    if (type instanceof ArrayType list) {
      return array((List<?>) value, list.elementType());
    }
    if (type instanceof MapType map) {
      Map<?, ?> entries = (Map<?, ?>) value;
      return new ArrayBasedMapData(
          array(new ArrayList<>(entries.keySet()), map.keyType()),
          array(new ArrayList<>(entries.values()), map.valueType()));
    }
    if (type instanceof StructType struct) {
      Map<?, ?> members = (Map<?, ?>) value;
      Object[] row = new Object[struct.length()];
      for (int i = 0; i < row.length; i++) {
        StructField field = struct.fields()[i];
        row[i] = catalyst(members.get(field.name()), field.dataType());
      }
      return new GenericInternalRow(row);
    }
    if (type instanceof StringType) {
      return UTF8String.fromString((String) value);
    }
    if (type instanceof DecimalType decimal) {
      return Decimal.apply(
          ((BigDecimal) value).setScale(decimal.scale()), decimal.precision(), decimal.scale());
    }
    if (type instanceof DateType) {
      return Math.toIntExact(((LocalDate) value).toEpochDay());
    }
    if (type instanceof TimestampType) {
      return DateTimeUtils.instantToMicros((Instant) value);
    }
    return type instanceof TimestampNTZType
        ? DateTimeUtils.localDateTimeToMicros((LocalDateTime) value)
        : classOf(type).cast(value);
  }

  private static ArrayData array(List<?> values, DataType type) {
    return new GenericArrayData(values.stream().map(value -> catalyst(value, type)).toArray());
  }

  private static Class<?> classOf(DataType type) {
    return switch (type.typeName()) {
      case "boolean" -> Boolean.class;
      case "integer" -> Integer.class;
      case "long" -> Long.class;
      case "float" -> Float.class;
      case "double" -> Double.class;
      default -> byte[].class;
    };
  }
}
