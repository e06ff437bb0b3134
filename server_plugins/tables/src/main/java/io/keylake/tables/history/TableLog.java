package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.SpecJson;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CommitFailedException;

/**
 * The log of a table: clients append writes to it, which are durable there, and move them to files
 * of the table as writes with offsets.
 *
 * @param id the name that it alone has
 * @param json the definition, which clients understand
 */
public record TableLog(String id, String json) {
  public static final String PROPERTY = "keylake.log";

  private static final int ATTEMPTS = 10;

  /** The log of a table, if it has one. */
  public static Optional<TableLog> of(Table table) {
    return of(table.properties());
  }

  /** The log that properties of a table say. */
  public static Optional<TableLog> of(Map<String, String> properties) {
    return Optional.ofNullable(properties.get(PROPERTY)).map(TableLog::fromJson);
  }

  /** The log that a definition says. */
  public static TableLog fromJson(String json) {
    JsonNode node = SpecJson.parse("the definition of a log", json);
    JsonNode id = node.path("id");
    if (!id.isTextual() || id.textValue().isEmpty() || !node.path("kind").isTextual()) {
      throw new KeylakeException(
          DEFINITION,
          "a log is defined by a JSON object with the members kind and id, not %s; table.log.begin(...) makes one"
              .formatted(json.length() <= 100 ? json : json.substring(0, 100) + "..."));
    }
    return new TableLog(id.textValue(), json);
  }

  /** The source of the offsets by which its entries count. */
  public String source() {
    return "log-" + id;
  }

  /**
   * Gives a table the log; one that it has already is ended first. A catalog in which a commit
   * replaces what it has seen refuses the later one of two who begin at once.
   */
  public void begin(Table table) {
    TableOperations operations =
        CertainOperations.of(((HasTableOperations) table).operations(), table.name());
    for (int attempt = 1; ; attempt++) {
      TableMetadata base = operations.refresh();
      if (base.properties().containsKey(PROPERTY)) {
        throw new KeylakeException(
            DEFINITION,
            "%s has a log already; end it first: table.log.drop()".formatted(table.name()));
      }
      try {
        operations.commit(
            base, TableMetadata.buildFrom(base).setProperties(Map.of(PROPERTY, json)).build());
        table.refresh();
        return;
      } catch (CommitFailedException e) { // another commit came first, and may be that of a log
        if (attempt == ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  /** Takes the log of a table away, if it has one. */
  public static void end(Table table) {
    Map<String, String> properties = table.properties();
    if (properties.containsKey(PROPERTY)) {
      CertainOperations.of(table).updateProperties().remove(PROPERTY).commit();
    }
  }
}
