package io.keylake.tables.schema;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.schema.ColumnChange.Position;
import io.keylake.tables.spec.SpecJson;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Changes of columns as the SDK sends them: a list of objects, each with what it does and to which
 * path. A type comes as an Iceberg schema of one column:
 *
 * <pre>
 * [{"change": "add", "path": ["score"], "schema": {...}, "after": "clicks"},
 *  {"change": "rename", "path": ["home", "zip"], "name": "zip_code"}]
 * </pre>
 */
public final class ChangesJson {
  private ChangesJson() {}

  public static List<ColumnChange> read(String json) {
    JsonNode list = SpecJson.parse("the list of changes", json);
    if (!list.isArray() || list.isEmpty()) {
      throw unreadable(list);
    }
    List<ColumnChange> changes = new ArrayList<>();
    list.forEach(each -> changes.add(change(each)));
    return changes;
  }

  private static ColumnChange change(JsonNode node) {
    List<String> path = new ArrayList<>();
    node.path("path").forEach(part -> path.add(part.asText()));
    if (path.isEmpty()) {
      throw unreadable(node);
    }
    return switch (node.path("change").asText()) {
      case "add" -> {
        NestedField field = field(node);
        yield new ColumnChange.Add(path, field.type(), field.doc(), position(node));
      }
      case "drop" -> new ColumnChange.Drop(path, false);
      case "rename" -> new ColumnChange.Rename(path, text(node, "name"));
      case "widen" -> new ColumnChange.Widen(path, field(node).type());
      case "comment" -> new ColumnChange.Comment(path, text(node, "comment"));
      case "move" -> {
        Position position = position(node);
        yield new ColumnChange.Move(path, position == null ? new Position(null) : position);
      }
      default -> throw unreadable(node);
    };
  }

  private static String text(JsonNode node, String name) {
    if (!node.path(name).isTextual()) {
      throw unreadable(node);
    }
    return node.get(name).textValue();
  }

  /** The place of a column; null where the change says none. */
  private static @Nullable Position position(JsonNode node) {
    if (!node.has("after")) {
      return null;
    }
    return new Position(node.get("after").isNull() ? null : text(node, "after"));
  }

  private static NestedField field(JsonNode node) {
    try {
      return SchemaParser.fromJson(node.path("schema").toString()).columns().get(0);
    } catch (IllegalArgumentException | ValidationException | IndexOutOfBoundsException e) {
      throw unreadable(node);
    }
  }

  private static KeylakeException unreadable(JsonNode node) {
    return new KeylakeException(
        DEFINITION,
        "%s is no change of columns; make changes with alter() of the SDK, or with ALTER TABLE"
            .formatted(node));
  }
}
