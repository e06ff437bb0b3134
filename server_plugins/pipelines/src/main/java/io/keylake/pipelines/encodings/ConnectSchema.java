package io.keylake.pipelines.encodings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;

/** Schemas of Kafka Connect, which stand in messages of JSON beside the payload. */
final class ConnectSchema {
  private static final String DECIMAL = "org.apache.kafka.connect.data.Decimal";

  private ConnectSchema() {}

  /** The conversion of the values that a schema describes. */
  static Conversion compile(JsonNode schema) throws BadMessage {
    String name = schema.path("name").asText("");
    JsonNode parameters = schema.path("parameters");
    if (name.equals(DECIMAL)) {
      return NamedTypes.decimals(
          parameters.path("connect.decimal.precision").asInt(38),
          parameters.path("scale").asInt(0));
    }
    Conversion named = NamedTypes.find(name);
    if (named != null) {
      return named;
    }
    String type = schema.path("type").asText("");
    return switch (type) {
      case "int8", "int16", "int32" -> Conversion.none(ValueType.of("int"));
      case "int64" -> Conversion.none(ValueType.of("long"));
      case "float", "float32" -> Conversion.none(ValueType.of("float"));
      case "double", "float64" -> Conversion.none(ValueType.of("double"));
      case "boolean", "string" -> Conversion.none(ValueType.of(type));
      case "bytes" -> Conversion.none(ValueType.BINARY);
      case "array" -> list(compile(schema.path("items")));
      case "map" -> map(compile(schema.path("values")));
      case "struct" -> struct(schema.path("fields"));
      default ->
          throw new BadMessage("its schema has the type '%s', which is not known".formatted(type));
    };
  }

  static Conversion list(Conversion element) {
    return new Conversion(
        ValueType.list(element.type()),
        value -> {
          if (value instanceof ArrayNode array) {
            for (int i = 0; i < array.size(); i++) {
              array.set(i, element.of(array.get(i)));
            }
          }
          return value;
        });
  }

  static Conversion map(Conversion element) {
    return new Conversion(
        ValueType.map(element.type()),
        value -> {
          if (value instanceof ObjectNode object) {
            for (Map.Entry<String, JsonNode> each : object.properties()) {
              each.setValue(element.of(each.getValue()));
            }
          }
          return value;
        });
  }

  private static Conversion struct(JsonNode fields) throws BadMessage {
    Map<String, Conversion> members = new LinkedHashMap<>();
    for (JsonNode field : fields) {
      members.put(field.path("field").asText(), compile(field));
    }
    Map<String, ValueType> types = new LinkedHashMap<>();
    members.forEach((name, member) -> types.put(name, member.type()));
    return new Conversion(
        ValueType.struct(types),
        value -> {
          if (value instanceof ObjectNode object) {
            for (Map.Entry<String, JsonNode> each : object.properties()) {
              Conversion member = members.get(each.getKey());
              if (member != null && member.body() != Conversion.AS_IT_IS) {
                each.setValue(member.of(each.getValue()));
              }
            }
          }
          return value;
        });
  }
}
