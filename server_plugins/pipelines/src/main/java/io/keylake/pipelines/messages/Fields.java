package io.keylake.pipelines.messages;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.JsonEncoding;
import io.keylake.tables.spec.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** The fields of rows as columns: their names, and values whose type no schema says. */
final class Fields {
  private List<String> checked = List.of(); // the names of the last row, which most others have

  /** Refuses a row whose fields cannot be columns, so that it alone is refused. */
  void check(Envelope.Row row) throws BadMessage {
    if (isAsBefore(row.row().fieldNames())) {
      return;
    }
    List<String> names = new ArrayList<>();
    Map<String, String> byLower = new HashMap<>();
    for (Map.Entry<String, JsonNode> each : row.row().properties()) {
      String name = each.getKey();
      if (name.isBlank()) {
        throw new BadMessage(
            "it has a field with the name '%s', and a column needs a name; send the field under another name"
                .formatted(name));
      }
      String other = byLower.putIfAbsent(TableSpec.folded(name), name);
      if (other != null) {
        throw new BadMessage(
            "it has the fields '%s' and '%s', which differ only in case and would be one column; send one of them"
                .formatted(other, name));
      }
      names.add(name);
    }
    checked = names;
  }

  private boolean isAsBefore(Iterator<String> names) {
    int at = 0;
    while (names.hasNext()) {
      if (at == checked.size() || !checked.get(at).equals(names.next())) {
        return false;
      }
      at++;
    }
    return at == checked.size();
  }

  /** Lists and objects of which no schema says what is in them become the text of their JSON. */
  static void flatten(Envelope.Row row) throws JsonProcessingException {
    for (Map.Entry<String, JsonNode> each : row.row().properties()) {
      if (each.getValue().isContainerNode() && !row.types().containsKey(each.getKey())) {
        String text = JsonEncoding.MAPPER.writeValueAsString(each.getValue());
        each.setValue(TextNode.valueOf(text));
      }
    }
  }

  /**
   * Refuses a row with half of a character, which no text holds.
   *
   * @param json the row as it was written: halves are in escapes there
   */
  static void checkTexts(Envelope.Row row, byte[] json) throws BadMessage {
    for (int i = 0; i + 2 < json.length; i++) {
      if (json[i] == '\\' && json[i + 1] == 'u' && (json[i + 2] == 'D' || json[i + 2] == 'd')) {
        checkTexts(row.row());
        return;
      }
    }
  }

  private static void checkTexts(JsonNode value) throws BadMessage {
    if (value.isTextual()) {
      checkText(value.textValue());
    }
    for (Map.Entry<String, JsonNode> each : value.properties()) {
      checkText(each.getKey());
    }
    for (JsonNode each : value) {
      checkTexts(each);
    }
  }

  private static void checkText(String text) throws BadMessage {
    for (int i = 0; i < text.length(); i++) {
      char each = text.charAt(i);
      if (!Character.isSurrogate(each)) {
        continue;
      }
      i++; // the other half
      if (i == text.length() || !Character.isSurrogatePair(each, text.charAt(i))) {
        throw new BadMessage(
            "it has half of a character, \\u%04x, which is no text; send the whole character"
                .formatted((int) each));
      }
    }
  }
}
