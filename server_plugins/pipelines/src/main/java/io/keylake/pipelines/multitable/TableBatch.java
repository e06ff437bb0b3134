package io.keylake.pipelines.multitable;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.SpecJson;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A table that gets rows of a frame.
 *
 * @param table its name, as the rows have it
 * @param said options of the write: stream, writer, watermark and offsets of its commit, and what
 *     rows have to satisfy
 */
public record TableBatch(String table, Map<String, String> said) {
  private static final List<String> MEMBERS =
      List.of("table", "offsets", "stream", "watermark", "writer", "require", "on_failure");

  public TableBatch {
    said = Map.copyOf(said);
  }

  /** Reads a JSON object with the members of a batch. */
  public static TableBatch of(String json) {
    JsonNode node = SpecJson.parse("a table of the write", json);
    String table = text(node, "table");
    if (table == null) {
      throw new KeylakeException(
          DEFINITION,
          "a table of the write has no name: %s; give its member table".formatted(json));
    }
    List<String> unknown = SpecJson.unknown(node, MEMBERS);
    if (!unknown.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "table %s of the write has the member '%s', which there is not; its members are %s"
              .formatted(table, unknown.get(0), String.join(", ", MEMBERS)));
    }
    Map<String, String> said = new HashMap<>();
    for (String name : new String[] {"stream", "writer", "watermark", "on_failure"}) {
      String value = text(node, name);
      if (value != null) {
        said.put(name, value);
      }
    }
    JsonNode offsets = node.get("offsets");
    if (offsets != null && !offsets.isNull()) {
      said.put("offsets", offsets.toString());
    }
    JsonNode require = node.get("require");
    if (require != null && !require.isNull()) {
      said.put("require", require.toString());
    }
    return new TableBatch(table, said);
  }

  private static @Nullable String text(JsonNode node, String name) {
    JsonNode value = node.get(name);
    return value == null ? null : value.textValue();
  }
}
