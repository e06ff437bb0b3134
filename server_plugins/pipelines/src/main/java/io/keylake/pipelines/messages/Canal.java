package io.keylake.pipelines.messages;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.Conversion;
import io.keylake.pipelines.encodings.Document;
import io.keylake.pipelines.encodings.MysqlText;
import io.keylake.pipelines.encodings.ValueType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * {@code {"database", "table", "type", "data": [rows], "old": [what they had], "pkNames",
 * "mysqlType"}}: several rows a message, every value a text, whose type MySQL names.
 */
final class Canal implements Envelope {
  private static final int MILLIS = 1000;
  private static final int MOST_TYPES = 10_000;

  /** The types of statements after which rows are gone, or have another table. */
  private static final Set<String> TAKEN_AWAY = Set.of("TRUNCATE", "ERASE", "RENAME");

  private final Keys keys;
  private final Map<String, Conversion> conversions = new HashMap<>();

  Canal(Keys keys) {
    this.keys = keys;
  }

  @Override
  public List<Row> rows(Message message) throws BadMessage {
    Document value = message.value();
    if (value == null) {
      return List.of();
    }
    String type = value.text("type");
    if (value.value().path("isDdl").asBoolean()) {
      String statement = value.value().path("sql").asText();
      if (TAKEN_AWAY.contains(type)) {
        throw Statements.told(statement.isBlank() ? type : statement);
      }
      Statements.check(statement);
      return List.of();
    }
    String table = value.text("database") + "." + value.text("table");
    JsonNode es = value.value().path("es");
    Long at = es.isIntegralNumber() ? (Long) (es.longValue() * MILLIS) : null;
    List<Row> rows = new ArrayList<>();
    switch (type) {
      case "INSERT", "UPDATE", "DELETE":
        break;
      case "QUERY":
        return List.of();
      default:
        throw new BadMessage(
            "its type is '%s'; known are INSERT, UPDATE and DELETE".formatted(type));
    }
    if (!(value.member("data") instanceof ArrayNode data)) {
      throw new BadMessage("it has no list 'data', which the format needs");
    }
    List<String> key = key(table, value);
    Map<String, Conversion> columns = columns(value);
    Map<String, ValueType> types = new HashMap<>();
    columns.forEach((name, column) -> types.put(name, column.type()));
    JsonNode old = value.value().path("old");
    for (int i = 0; i < data.size(); i++) {
      ObjectNode row = converted(Envelope.object(data.get(i), "data"), columns);
      if (type.equals("DELETE")) {
        rows.add(Row.deleted(table, row, key, types, at));
        continue;
      }
      if (type.equals("UPDATE") && old.path(i) instanceof ObjectNode changed) {
        ObjectNode before = row.deepCopy();
        before.setAll(converted(changed, columns));
        if (Keys.differ(key, before, row)) {
          rows.add(Row.deleted(table, before, key, types, at));
          rows.add(new Row(table, "c", row, key, types, at));
          continue;
        }
      }
      rows.add(new Row(table, type.equals("INSERT") ? "c" : "u", row, key, types, at));
    }
    return rows;
  }

  private List<String> key(String table, Document value) {
    List<String> declared = keys.declared(table);
    if (declared != null) {
      return declared;
    }
    List<String> found = new ArrayList<>();
    value.value().path("pkNames").forEach(each -> found.add(each.asText()));
    return found;
  }

  private Map<String, Conversion> columns(Document value) {
    Map<String, Conversion> columns = new HashMap<>();
    for (Map.Entry<String, JsonNode> each : value.value().path("mysqlType").properties()) {
      if (conversions.size() > MOST_TYPES) {
        conversions.clear();
      }
      columns.put(
          each.getKey(), conversions.computeIfAbsent(each.getValue().asText(), MysqlText::of));
    }
    return columns;
  }

  private static ObjectNode converted(ObjectNode row, Map<String, Conversion> columns)
      throws BadMessage {
    for (Map.Entry<String, JsonNode> each : row.properties()) {
      @Nullable Conversion column = columns.get(each.getKey());
      if (column != null && each.getValue().isTextual()) {
        each.setValue(column.of(each.getValue()));
      }
    }
    return row;
  }
}
