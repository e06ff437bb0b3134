package io.keylake.pipelines.messages;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.Document;
import io.keylake.pipelines.encodings.ValueType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * {@code {"before", "after", "op", "source"}}, whose key is that of the message. A null value
 * follows a delete for the broker's own compaction, and says nothing new.
 */
final class Debezium implements Envelope {
  private static final int MILLIS = 1000;

  private final Keys keys;
  private final NotLogged notLogged;

  Debezium(Keys keys, NotLogged notLogged) {
    this.keys = keys;
    this.notLogged = notLogged;
  }

  @Override
  public List<Row> rows(Message message) throws BadMessage {
    Document value = message.value();
    if (value == null || isChangeOfSchema(value)) {
      return List.of();
    }
    String op = value.text("op");
    if (op.equals("m")) { // a message of the database's own log, about no table
      return List.of();
    }
    JsonNode source = value.member("source");
    if (source == null) {
      throw new BadMessage("it has no object 'source', which the format needs");
    }
    String table = table(source);
    Long at = at(source, value);
    List<String> key = keys.of(table, message);
    JsonNode before = value.member("before");
    switch (op) {
      case "c", "r":
        return List.of(written(table, op, value, key, at));
      case "u":
        Row row = written(table, op, value, key, at);
        if (before instanceof ObjectNode old && Keys.differ(key, old, row.row())) {
          Map<String, ValueType> types = types(value, "before");
          return List.of(
              Row.deleted(table, old, key, types, at),
              new Row(table, "c", row.row(), key, row.types(), at));
        }
        return List.of(row);
      case "d":
        Document messageKey = message.key();
        if (before == null && messageKey != null && messageKey.value() instanceof ObjectNode old) {
          return List.of(Row.deleted(table, old, key, Map.of(), at));
        }
        return List.of(
            Row.deleted(table, Envelope.object(before, "before"), key, types(value, "before"), at));
      case "t":
        throw new BadMessage(
            "%s was truncated: messages say no keys for it, so that rows are still there; delete them by hand"
                .formatted(table));
      default:
        throw new BadMessage("its op is '%s'; known are c, u, d and r".formatted(op));
    }
  }

  private Row written(String table, String op, Document value, List<String> key, @Nullable Long at)
      throws BadMessage {
    ObjectNode after = Envelope.object(value.member("after"), "after");
    List<String> absent = new ArrayList<>();
    for (Map.Entry<String, JsonNode> each : after.properties()) {
      if (notLogged.is(each.getValue())) {
        absent.add(each.getKey());
      }
    }
    after.remove(absent);
    return new Row(table, op, after, key, types(value, "after"), at);
  }

  private static Map<String, ValueType> types(Document value, String member) {
    ValueType type = value.type();
    ValueType found = type == null ? null : type.members().get(member);
    return found == null ? Map.of() : found.members();
  }

  /** Columns that are new come with the rows that have them. What else ends a table is told. */
  private static boolean isChangeOfSchema(Document value) throws BadMessage {
    JsonNode ddl = value.member("ddl");
    if (ddl == null || value.member("op") != null) {
      return false;
    }
    Statements.check(ddl.asText());
    return true;
  }

  private static String table(JsonNode source) throws BadMessage {
    List<String> parts = new ArrayList<>();
    for (String name : List.of("db", "schema", "table")) {
      if (source.path(name).isTextual() && !source.path(name).textValue().isEmpty()) {
        parts.add(source.path(name).textValue());
      }
    }
    if (!source.path("table").isTextual()) {
      throw new BadMessage("its source has no text 'table', which the format needs");
    }
    return String.join(".", parts);
  }

  private static @Nullable Long at(JsonNode source, Document value) {
    JsonNode millis =
        source.path("ts_ms").isIntegralNumber() ? source.get("ts_ms") : value.member("ts_ms");
    return millis == null || !millis.isIntegralNumber()
        ? null
        : (Long) (millis.longValue() * MILLIS);
  }
}
