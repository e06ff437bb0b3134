package io.keylake.pipelines.messages;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.ValueType;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The changes that a document of a format says: which rows of which table have changed. */
@FunctionalInterface
interface Envelope {
  /** The changes of a message in their order; none where it says nothing about rows. */
  List<Row> rows(Message message) throws BadMessage;

  /**
   * A changed row.
   *
   * @param key the names of its key, empty where the message does not tell
   * @param types the types of its columns where a schema says them
   */
  record Row(
      String table,
      String op,
      ObjectNode row,
      List<String> key,
      Map<String, ValueType> types,
      @Nullable Long at) {
    /** A deleted key: what else the row has is left out. */
    static Row deleted(
        String table,
        ObjectNode row,
        List<String> key,
        Map<String, ValueType> types,
        @Nullable Long at) {
      return new Row(table, "d", key.isEmpty() ? row : row.deepCopy().retain(key), key, types, at);
    }
  }

  /** The object of a member, or an error that says that the format needs it. */
  static ObjectNode object(@Nullable JsonNode found, String name) throws BadMessage {
    if (found instanceof ObjectNode object) {
      return object;
    }
    throw new BadMessage("it has no object '%s', which the format needs".formatted(name));
  }
}
