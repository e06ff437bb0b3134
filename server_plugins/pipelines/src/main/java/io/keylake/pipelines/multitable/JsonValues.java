package io.keylake.pipelines.multitable;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;
import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.ListType;
import org.apache.iceberg.types.Types.MapType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.jspecify.annotations.Nullable;

/** Values of JSON as Spark keeps those of a type; what does not fit the type is refused. */
final class JsonValues {
  private JsonValues() {}

  /**
   * The value that the parser has come to; null for JSON's null.
   *
   * @param column its name, with those of the structs around it
   */
  static @Nullable Object value(JsonParser json, Type type, String column) throws IOException {
    JsonToken token = json.currentToken();
    if (token == JsonToken.VALUE_NULL) {
      return null;
    }
    switch (type.typeId()) {
      case STRUCT:
        return struct(json, type.asStructType(), column);
      case LIST:
        return list(json, type.asListType(), column);
      case MAP:
        return map(json, type.asMapType(), column);
      case BOOLEAN:
        if (!token.isBoolean()) {
          throw misfit(json, type, column);
        }
        return token == JsonToken.VALUE_TRUE;
      case INTEGER, LONG, FLOAT, DOUBLE, DECIMAL:
        if (!token.isNumeric() && token != JsonToken.VALUE_STRING) {
          throw misfit(json, type, column);
        }
        return text(json, type, column);
      case DATE, TIMESTAMP, STRING, UUID, BINARY, FIXED:
        if (token != JsonToken.VALUE_STRING) {
          throw misfit(json, type, column);
        }
        return text(json, type, column);
      default:
        throw new KeylakeException(
            UNSUPPORTED,
            "column '%s' is %s, and rows of many tables carry no such values"
                .formatted(column, type));
    }
  }

  private static Object text(JsonParser json, Type type, String column) throws IOException {
    Object value = TextValues.value(json.getText(), type);
    if (value == null) {
      throw misfit(json, type, column);
    }
    return value;
  }

  private static Object key(String text, Type type, String column) {
    Object value = TextValues.value(text, type);
    if (value == null) {
      throw misfit(TextValues.quoted(text), type, column);
    }
    return value;
  }

  private static Object struct(JsonParser json, StructType type, String column) throws IOException {
    expect(json, JsonToken.START_OBJECT, type, column);
    List<NestedField> fields = type.fields();
    Object[] values = new Object[fields.size()];
    boolean[] isThere = new boolean[values.length];
    while (json.nextToken() != JsonToken.END_OBJECT) {
      String name = json.currentName();
      int place = place(fields, name);
      if (place < 0 || isThere[place]) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            place < 0
                ? "column '%s' has no field '%s'; it is %s".formatted(column, name, type)
                : "the field '%s' of column '%s' is there twice".formatted(name, column));
      }
      isThere[place] = true;
      json.nextToken();
      values[place] = value(json, fields.get(place).type(), column + "." + name);
    }
    for (int i = 0; i < values.length; i++) {
      checkNull(values[i], fields.get(i).isOptional(), column + "." + fields.get(i).name());
    }
    return new GenericInternalRow(values);
  }

  private static int place(List<NestedField> fields, String name) {
    for (int i = 0; i < fields.size(); i++) {
      if (fields.get(i).name().equalsIgnoreCase(name)) {
        return i;
      }
    }
    return -1;
  }

  private static Object list(JsonParser json, ListType type, String column) throws IOException {
    expect(json, JsonToken.START_ARRAY, type, column);
    List<@Nullable Object> values = new ArrayList<>();
    while (json.nextToken() != JsonToken.END_ARRAY) {
      Object value = value(json, type.elementType(), column);
      checkNull(value, type.isElementOptional(), column);
      values.add(value);
    }
    return new GenericArrayData(values.toArray());
  }

  private static Object map(JsonParser json, MapType type, String column) throws IOException {
    expect(json, JsonToken.START_OBJECT, type, column);
    List<Object> keys = new ArrayList<>(); // a key that is there twice is refused by the write
    List<@Nullable Object> values = new ArrayList<>();
    while (json.nextToken() != JsonToken.END_OBJECT) {
      keys.add(key(json.currentName(), type.keyType(), column));
      json.nextToken();
      Object value = value(json, type.valueType(), column);
      checkNull(value, type.isValueOptional(), column);
      values.add(value);
    }
    return new ArrayBasedMapData(
        new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
  }

  private static void checkNull(@Nullable Object value, boolean mayBeNull, String column) {
    if (value == null && !mayBeNull) {
      throw new KeylakeException(
          BAD_ROWS, "a value in column '%s' is null, and is never null there".formatted(column));
    }
  }

  private static void expect(JsonParser json, JsonToken token, Type type, String column)
      throws IOException {
    if (json.currentToken() != token) {
      throw misfit(json, type, column);
    }
  }

  private static KeylakeException misfit(JsonParser json, Type type, String column)
      throws IOException {
    JsonToken token = json.currentToken();
    String said =
        token.isStructStart()
            ? "a JSON %s".formatted(token == JsonToken.START_ARRAY ? "array" : "object")
            : token == JsonToken.VALUE_STRING
                ? TextValues.quoted(json.getText())
                : TextValues.shortened(json.getText(), TextValues.LONGEST_SHOWN);
    return misfit(said, type, column);
  }

  private static KeylakeException misfit(String said, Type type, String column) {
    return new KeylakeException(
        BAD_ROWS,
        "column '%s' is %s and cannot hold %s without changing it".formatted(column, type, said));
  }
}
