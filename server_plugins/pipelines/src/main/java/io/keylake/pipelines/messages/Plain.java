package io.keylake.pipelines.messages;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.Document;
import io.keylake.pipelines.encodings.ValueType;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Objects that are rows of a table with the name of their topic; no value deletes the key. */
final class Plain implements Envelope {
  static final String WRITE = "u";

  private final Keys keys;

  Plain(Keys keys) {
    this.keys = keys;
  }

  @Override
  public List<Row> rows(Message message) throws BadMessage {
    String table = message.topic();
    List<String> key = key(message);
    Document value = message.value();
    if (value == null) {
      return List.of(Row.deleted(table, deleted(message, key), key, Map.of(), message.sent()));
    }
    if (!(value.value() instanceof ObjectNode row)) {
      throw new BadMessage("it is no object, but %s".formatted(value.value()));
    }
    ValueType type = value.type();
    Map<String, ValueType> types = type == null ? Map.of() : type.members();
    if (!key.stream().allMatch(row::has)) {
      types = completed(row, types, key, message);
    }
    return List.of(new Row(table, WRITE, row, key, types, message.sent()));
  }

  /** Adds what only the key of the message has of the key of its row, and gives all types. */
  private static Map<String, ValueType> completed(
      ObjectNode row, Map<String, ValueType> types, List<String> key, Message message)
      throws BadMessage {
    Document own = message.key();
    if (own == null || own.value().isNull() || own.value().isBinary()) {
      return types;
    }
    Map<String, ValueType> all = new HashMap<>(types);
    boolean isValue = !own.value().isContainerNode() && key.size() == 1;
    for (String name : key) {
      JsonNode found = isValue ? own.value() : own.value().get(name);
      if (found != null && !row.has(name)) {
        row.set(name, found);
        ValueType type =
            own.type() == null || isValue ? own.type() : own.type().members().get(name);
        if (type != null) {
          all.put(name, type);
        }
      }
    }
    return all;
  }

  /** The names of the key of a message. */
  List<String> key(Message message) throws BadMessage {
    return keys.of(message.topic(), message);
  }

  private static ObjectNode deleted(Message message, List<String> key) throws BadMessage {
    Document messageKey = message.key();
    if (messageKey == null) {
      throw new BadMessage("it has neither a value nor a key, so that it deletes no row");
    }
    JsonNode found = messageKey.value();
    if (found instanceof ObjectNode object) {
      for (String each : key) {
        if (!object.has(each)) {
          throw new BadMessage(
              "it has no value, and its key %s no '%s', so that it deletes no row"
                  .formatted(found, each));
        }
      }
      return object;
    }
    if (found.isBinary()) {
      throw new BadMessage(
          "it has no value, and the bytes of its key, %s as base64, are no text; send keys as JSON or as text"
              .formatted(found.asText()));
    }
    if (key.size() != 1 || found.isContainerNode() || found.isNull()) {
      throw new BadMessage(
          "it has no value, and its key %s is no object of the columns of a key %s"
              .formatted(found, key));
    }
    ObjectNode row = JsonNodeFactory.instance.objectNode();
    row.set(key.get(0), found);
    return row;
  }
}
