package io.keylake.pipelines.messages;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.Document;
import io.keylake.pipelines.encodings.ValueType;
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
    return List.of(
        new Row(table, WRITE, row, key, type == null ? Map.of() : type.members(), message.sent()));
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
