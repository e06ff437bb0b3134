package io.keylake.pipelines.messages;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.Document;
import io.keylake.pipelines.encodings.ValueType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * {@code {"database", "table", "type", "ts", "data", "old"}}: the key is what Maxwell lists in
 * {@code primary_key_columns}, or the members {@code pk.<name>} of the key of the message.
 */
final class Maxwell implements Envelope {
  private static final long SECONDS = 1_000_000L;
  private static final String OF_KEY = "pk.";

  private final Keys keys;

  Maxwell(Keys keys) {
    this.keys = keys;
  }

  @Override
  public List<Row> rows(Message message) throws BadMessage {
    Document value = message.value();
    if (value == null) {
      return List.of();
    }
    String type = value.text("type");
    switch (type) {
      case "table-alter":
        checkIsNotRenamed(value.value());
        return List.of();
      case "bootstrap-start",
      "bootstrap-complete",
      "table-create",
      "database-create",
      "database-alter":
        return List.of();
      case "table-drop", "database-drop":
        Statements.check("drop table " + value.value().path("table").asText());
        return List.of();
      case "insert", "bootstrap-insert", "update", "delete":
        break;
      default:
        throw new BadMessage(
            "its type is '%s'; known are insert, update, delete and bootstrap-insert"
                .formatted(type));
    }
    String table = value.text("database") + "." + value.text("table");
    JsonNode ts = value.value().path("ts");
    Long at = ts.isIntegralNumber() ? (Long) (ts.longValue() * SECONDS) : null;
    ObjectNode row = Envelope.object(value.member("data"), "data");
    List<String> key = key(table, message);
    Map<String, ValueType> none = Map.of();
    if (type.equals("delete")) {
      return List.of(Row.deleted(table, row, key, none, at));
    }
    if (type.equals("update") && value.member("old") instanceof ObjectNode old) {
      ObjectNode before = row.deepCopy();
      before.setAll(old);
      if (Keys.differ(key, before, row)) {
        return List.of(
            Row.deleted(table, before, key, none, at), new Row(table, "c", row, key, none, at));
      }
    }
    String op = type.equals("update") ? "u" : type.equals("insert") ? "c" : "r";
    return List.of(new Row(table, op, row, key, none, at));
  }

  /** The definition after a change names the table that it has become. */
  private static void checkIsNotRenamed(JsonNode change) throws BadMessage {
    JsonNode now = change.path("def");
    for (String name : List.of("database", "table")) {
      String after = now.path(name).asText("");
      if (!after.isEmpty() && !after.equals(change.path(name).asText(after))) {
        throw Statements.told(
            change.path("sql").asText("alter table ... rename to " + now.path("table").asText()));
      }
    }
  }

  private List<String> key(String table, Message message) throws BadMessage {
    List<String> declared = keys.declared(table);
    if (declared != null) {
      return declared;
    }
    List<String> found = new ArrayList<>();
    Document value = message.value();
    if (value != null) {
      value.value().path("primary_key_columns").forEach(each -> found.add(each.asText()));
    }
    Document own = found.isEmpty() ? message.key() : null;
    if (own != null) {
      own.value()
          .fieldNames()
          .forEachRemaining(
              name -> {
                if (name.startsWith(OF_KEY)) {
                  found.add(name.substring(OF_KEY.length()));
                }
              });
    }
    return found;
  }
}
