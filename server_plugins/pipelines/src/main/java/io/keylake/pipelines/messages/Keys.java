package io.keylake.pipelines.messages;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.Document;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The names of the keys of tables: as they are declared, or else as messages tell them.
 *
 * @param declared by table; {@code *} is for every other one
 */
record Keys(Map<String, List<String>> declared) {
  private static final String EVERY = "*";

  /** The declared key of a table; null where none is. */
  @Nullable List<String> declared(String table) {
    List<String> own = declared.get(table);
    return own == null ? declared.get(EVERY) : own;
  }

  /**
   * The key of a table, by the members of the key of a message if none is declared; empty where
   * there are none.
   */
  List<String> of(String table, Message message) throws BadMessage {
    List<String> found = declared(table);
    if (found != null) {
      return found;
    }
    Document key = message.key();
    List<String> names = new ArrayList<>();
    if (key != null && key.value() instanceof ObjectNode object) {
      object.fieldNames().forEachRemaining(names::add);
    }
    return names;
  }

  /** Two rows that both have the whole key have different keys. */
  static boolean differ(List<String> key, ObjectNode before, ObjectNode after) {
    return !key.isEmpty()
        && key.stream().allMatch(each -> before.has(each) && after.has(each))
        && key.stream().anyMatch(each -> !before.get(each).equals(after.get(each)));
  }
}
