package io.keylake.pipelines.messages;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.pipelines.encodings.JsonEncoding;
import io.keylake.pipelines.encodings.ValueType;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The columns of tables that rows have told, so that a row tells only what is new. */
final class FoundColumns {
  private final Map<String, Known> tables = new HashMap<>();

  private static final class Known {
    private final Map<String, Set<JsonNode>> columns = new HashMap<>();
    private @Nullable List<String> key;
  }

  /** {@code {"key": [names], "columns": {name: [types]}}}, or null where nothing is new. */
  @Nullable String add(Envelope.Row row) {
    Known known = tables.computeIfAbsent(row.table(), table -> new Known());
    ObjectNode columns = null;
    for (Map.Entry<String, JsonNode> each : row.row().properties()) {
      ValueType type = row.types().get(each.getKey());
      if (type == null && each.getValue().isNull()) {
        continue;
      }
      JsonNode said = (type == null ? ValueType.seen(each.getValue()) : type).iceberg();
      if (known.columns.computeIfAbsent(each.getKey(), name -> new HashSet<>()).add(said)) {
        columns = columns == null ? JsonEncoding.MAPPER.createObjectNode() : columns;
        columns.putArray(each.getKey()).add(said);
      }
    }
    if (columns == null && row.key().equals(known.key)) {
      return null;
    }
    known.key = row.key();
    ObjectNode found = JsonEncoding.MAPPER.createObjectNode();
    row.key().forEach(found.putArray("key")::add);
    found.set("columns", columns == null ? JsonEncoding.MAPPER.createObjectNode() : columns);
    return found.toString();
  }
}
