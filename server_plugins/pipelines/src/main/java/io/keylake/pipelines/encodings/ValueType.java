package io.keylake.pipelines.encodings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The type of a value.
 *
 * @param iceberg as Iceberg's JSON has it: the name of a primitive type, or an object
 * @param members of a struct, by their names
 */
public record ValueType(JsonNode iceberg, Map<String, ValueType> members) {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private static final int MOST_BITS = 126; // of 38 digits

  static final ValueType BOOLEAN = of("boolean");
  static final ValueType LONG = of("long");
  static final ValueType DOUBLE = of("double");
  static final ValueType STRING = of("string");
  static final ValueType BINARY = of("binary");
  private static final ValueType LARGE = decimal(38, 0);

  static ValueType of(String name) {
    return new ValueType(JSON.textNode(name), Map.of());
  }

  static ValueType decimal(int precision, int scale) {
    return of("decimal(%d, %d)".formatted(precision, scale));
  }

  /** Numbers of its parts are given by whoever makes a column of it. */
  static ValueType list(ValueType element) {
    ObjectNode type = JSON.objectNode().put("type", "list").put("element-id", 0);
    type.set("element", element.iceberg);
    return new ValueType(type.put("element-required", false), Map.of());
  }

  static ValueType map(ValueType value) {
    ObjectNode type = JSON.objectNode().put("type", "map").put("key-id", 0).put("key", "string");
    type.put("value-id", 0).set("value", value.iceberg);
    return new ValueType(type.put("value-required", false), Map.of());
  }

  static ValueType struct(Map<String, ValueType> members) {
    ObjectNode type = JSON.objectNode().put("type", "struct");
    var fields = type.putArray("fields");
    members.forEach(
        (name, member) ->
            fields
                .addObject()
                .put("id", 0)
                .put("name", name)
                .put("required", false)
                .set("type", member.iceberg));
    return new ValueType(type, new LinkedHashMap<>(members));
  }

  /** The type that a value tells of its column where no schema does; it is not null. */
  public static ValueType seen(JsonNode value) {
    return switch (value.getNodeType()) {
      case BOOLEAN -> BOOLEAN;
      case NUMBER -> number(value);
      default -> STRING; // text, and lists and objects as the JSON that they are
    };
  }

  private static ValueType number(JsonNode value) {
    if (!value.isIntegralNumber()) {
      return DOUBLE;
    }
    if (value.canConvertToLong()) {
      return LONG;
    }
    return value.bigIntegerValue().bitLength() <= MOST_BITS ? LARGE : DOUBLE;
  }
}
