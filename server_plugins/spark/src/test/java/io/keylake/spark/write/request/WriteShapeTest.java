package io.keylake.spark.write.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.SpecJson;
import io.keylake.tables.spec.TableDefinition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is checked of a write before it runs, by the cases that pytest reads, too. */
class WriteShapeTest {
  private static final JsonNode SHARED = shared();

  private static JsonNode shared() {
    Path file = Path.of(System.getProperty("keylake.cases"), "writes", "columns_and_versions.json");
    try {
      return SpecJson.parse(Files.readString(file));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  static List<JsonNode> cases() {
    List<JsonNode> cases = new ArrayList<>();
    SHARED.get("cases").forEach(cases::add);
    return cases;
  }

  @ParameterizedTest
  @MethodSource("cases")
  void aWriteIsAcceptedOrRefused(JsonNode given) throws IOException {
    KeyedSchema schema = table(SHARED.get("tables").get(given.get("table").asText()));
    Map<String, String> options = new HashMap<>();
    given.get("options").properties().forEach(o -> options.put(o.getKey(), o.getValue().asText()));
    List<String> columns = new ArrayList<>();
    given.get("columns").forEach(column -> columns.add(column.asText()));
    boolean replaces = "overwrite".equals(options.get("verb"));
    WriteOptions read =
        WriteOptions.of(options, replaces ? WriteOptions.Verb.OVERWRITE : WriteOptions.Verb.UPDATE)
            .versionedBy(schema.spec().ordering());
    if (!given.has("error")) {
      WriteShape.of(columns, schema, read, false);
      return;
    }
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> WriteShape.of(columns, schema, read, false));
    assertEquals(given.get("error").asText(), refused.kind().name());
    given
        .get("says")
        .forEach(
            name -> assertTrue(refused.getMessage().contains(name.asText()), refused::getMessage));
  }

  private static KeyedSchema table(JsonNode spec) throws IOException {
    TableDefinition definition = TableDefinition.fromJson(spec.toString());
    try (InMemoryCatalog catalog = new InMemoryCatalog()) {
      catalog.initialize("memory", Map.of());
      catalog.createNamespace(Namespace.of("features"));
      return KeyedSchema.of(
          catalog.createTable(
              TableIdentifier.of("features", "clicks"),
              definition.icebergSchema(),
              null,
              definition.properties(Map.of())));
    }
  }
}
