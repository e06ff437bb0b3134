package io.keylake.pipelines.encodings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.jspecify.annotations.Nullable;

/**
 * Values of a schema of Avro as JSON, and their type.
 *
 * @param type of the values in JSON
 */
record AvroValues(ValueType type, Body body) {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  /** The function that converts a value that is not null. */
  @FunctionalInterface
  interface Body {
    JsonNode of(Object value) throws BadMessage;
  }

  JsonNode json(@Nullable Object value) throws BadMessage {
    return value == null ? JSON.nullNode() : body.of(value);
  }

  static AvroValues of(Schema schema) {
    Conversion named = named(schema);
    if (named != null) {
      AvroValues raw = raw(schema);
      return new AvroValues(named.type(), value -> named.of(raw.json(value)));
    }
    return raw(schema);
  }

  /** The conversion by the logical type of Avro, or by the name that Kafka Connect gives to it. */
  private static @Nullable Conversion named(Schema schema) {
    String connect = schema.getProp("connect.name");
    if (connect != null && NamedTypes.find(connect) != null) {
      return NamedTypes.find(connect);
    }
    if (schema.getLogicalType() instanceof LogicalTypes.Decimal decimal) {
      return NamedTypes.decimals(decimal.getPrecision(), decimal.getScale());
    }
    String logical = schema.getLogicalType() == null ? "" : schema.getLogicalType().getName();
    return switch (logical) {
      case "date" -> NamedTypes.dates();
      case "time-millis" -> NamedTypes.times(TimeUnit.MILLISECONDS);
      case "time-micros" -> NamedTypes.times(TimeUnit.MICROSECONDS);
      case "timestamp-millis" -> NamedTypes.moments(TimeUnit.MILLISECONDS, true);
      case "timestamp-micros" -> NamedTypes.moments(TimeUnit.MICROSECONDS, true);
      case "timestamp-nanos" -> NamedTypes.moments(TimeUnit.NANOSECONDS, true);
      case "local-timestamp-millis" -> NamedTypes.moments(TimeUnit.MILLISECONDS, false);
      case "local-timestamp-micros" -> NamedTypes.moments(TimeUnit.MICROSECONDS, false);
      case "local-timestamp-nanos" -> NamedTypes.moments(TimeUnit.NANOSECONDS, false);
      case "uuid" ->
          schema.getType() == Schema.Type.STRING ? Conversion.none(ValueType.of("uuid")) : null;
      default -> null;
    };
  }

  private static AvroValues raw(Schema schema) {
    return switch (schema.getType()) {
      case BOOLEAN -> new AvroValues(ValueType.of("boolean"), v -> JSON.booleanNode((Boolean) v));
      case INT -> new AvroValues(ValueType.of("int"), v -> JSON.numberNode((Integer) v));
      case LONG -> new AvroValues(ValueType.of("long"), v -> JSON.numberNode((Long) v));
      case FLOAT -> new AvroValues(ValueType.of("float"), AvroValues::floating);
      case DOUBLE -> new AvroValues(ValueType.of("double"), AvroValues::floating);
      case STRING, ENUM, NULL ->
          new AvroValues(ValueType.STRING, v -> JSON.textNode(String.valueOf(v)));
      case BYTES -> new AvroValues(ValueType.BINARY, v -> JSON.binaryNode(bytes((ByteBuffer) v)));
      case FIXED ->
          new AvroValues(ValueType.BINARY, v -> JSON.binaryNode(((GenericFixed) v).bytes()));
      case ARRAY -> list(of(schema.getElementType()));
      case MAP -> map(of(schema.getValueType()));
      case RECORD -> struct(schema);
      case UNION -> union(schema);
    };
  }

  /** JSON has no NaN and no infinity: they are text. */
  private static JsonNode floating(Object value) {
    double number = ((Number) value).doubleValue();
    return Double.isFinite(number)
        ? JSON.numberNode(new BigDecimal(value.toString()))
        : JSON.textNode(value.toString());
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] found = new byte[buffer.remaining()];
    buffer.duplicate().get(found);
    return found;
  }

  private static AvroValues list(AvroValues element) {
    return new AvroValues(
        ValueType.list(element.type),
        value -> {
          ArrayNode array = JSON.arrayNode();
          for (Object each : (Iterable<?>) value) {
            array.add(element.json(each));
          }
          return array;
        });
  }

  private static AvroValues map(AvroValues element) {
    return new AvroValues(
        ValueType.map(element.type),
        value -> {
          ObjectNode object = JSON.objectNode();
          for (Map.Entry<?, ?> each : ((Map<?, ?>) value).entrySet()) {
            object.set(String.valueOf(each.getKey()), element.json(each.getValue()));
          }
          return object;
        });
  }

  private static AvroValues struct(Schema schema) {
    List<AvroValues> members = new ArrayList<>();
    Map<String, ValueType> types = new LinkedHashMap<>();
    for (Schema.Field field : schema.getFields()) {
      AvroValues member = of(field.schema());
      members.add(member);
      types.put(field.name(), member.type);
    }
    List<String> names = List.copyOf(types.keySet());
    return new AvroValues(
        ValueType.struct(types),
        value -> {
          ObjectNode object = JSON.objectNode();
          for (int i = 0; i < members.size(); i++) {
            object.set(names.get(i), members.get(i).json(((IndexedRecord) value).get(i)));
          }
          return object;
        });
  }

  /**
   * A union of null and one type: that type. Of several, the value is kept as the text that Avro
   * shows.
   */
  private static AvroValues union(Schema schema) {
    List<Schema> types =
        schema.getTypes().stream().filter(each -> each.getType() != Schema.Type.NULL).toList();
    return types.size() == 1
        ? of(types.get(0))
        : new AvroValues(ValueType.STRING, value -> JSON.textNode(value.toString()));
  }
}
