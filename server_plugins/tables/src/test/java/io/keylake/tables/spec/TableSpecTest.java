package io.keylake.tables.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.tables.CaseFiles;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.planning.MemoryTables;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.TypeUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract with Python: the golden files that pytest reads as well. */
class TableSpecTest {
  private static final ObjectMapper SORTED =
      new ObjectMapper().configure(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS, true);

  static List<String> golden() {
    return CaseFiles.goldenSpecs();
  }

  static Stream<Arguments> refused() {
    return StreamSupport.stream(CaseFiles.json("spec/refused.json").spliterator(), false)
        .map(each -> Arguments.of(each.get("why").textValue(), each));
  }

  @ParameterizedTest
  @MethodSource("golden")
  void thePropertyFormComesBackAsPythonWritesIt(String file) throws JsonProcessingException {
    JsonNode property = CaseFiles.json(file).get("property");
    String text = TableSpec.fromJson(property.toPrettyString()).toJson();
    assertEquals(SORTED.writeValueAsString(SORTED.convertValue(property, Map.class)), text);
    assertEquals(TableSpec.fromJson(property.toString()), TableSpec.fromJson(text));
  }

  @ParameterizedTest
  @MethodSource("golden")
  void theFullFormComesBackFromTheTableMadeOfIt(String file) {
    JsonNode full = CaseFiles.json(file).get("spec");
    TableDefinition definition = TableDefinition.fromJson(full.toString());
    assertEquals(CaseFiles.json(file).get("property"), SpecJson.parse(definition.spec().toJson()));
    Table table = MemoryTables.create(definition);
    JsonNode described =
        SpecJson.parse(TableDefinition.describe(table, full.get("name").textValue()));
    assertEquals(withFreshIds(full), withFreshIds(described));
    assertEquals(definition.spec(), KeyedSchema.of(table).spec());
  }

  /** The full form with the schema's ids counted anew: a catalog gives ids of its own. */
  private static JsonNode withFreshIds(JsonNode full) {
    Schema schema = SchemaParser.fromJson(full.get("schema").toString());
    ObjectNode copy = full.deepCopy();
    copy.set(
        "schema", SpecJson.parse(SchemaParser.toJson(TypeUtil.assignIncreasingFreshIds(schema))));
    return copy;
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("refused")
  void refusedInWordsThatPythonUsesToo(String why, JsonNode given) {
    ObjectNode full = given.get("property").deepCopy();
    full.put("name", "shop.orders");
    full.set("schema", given.get("schema"));
    assertRefused(full.toString(), given.get("error").textValue(), given.get("says").textValue());
  }

  private static void assertRefused(String full, String kind, String says) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> TableDefinition.fromJson(full));
    assertEquals(kind, refused.kind().name());
    assertTrue(refused.getMessage().contains(says), refused.getMessage());
    assertTrue(refused.getMessage().startsWith("[KEYLAKE_" + kind + "] "), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {                                                   | is not JSON
          {} {}                                               | is not JSON
          []                                                  | not []
          7                                                   | not 7
          {"spec_version": 1, "spec_version": 1}              | spec_version
          {"spec_version": true}                              | spec_version true
          {"spec_version": "1"}                               | spec_version "1"
          {"spec_version": 0}                                 | spec_version 0
          {"spec_version": 1.0}                               | spec_version 1.0
          {"spec_version": 12345678901234567890}              | newer
          {"spec_version": 1}                                 | lacks 'key'
          """)
  void aTextThatIsNoSpec(String text, String says) {
    assertRefused(text, "DEFINITION", says);
  }

  /** Members of the golden compound key, each replaced by something of another shape. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          key           | ["user_id", 7]                 | 'key'
          key           | {"user_id": 1}                 | 'key'
          versions      | 7                              | 'versions'
          ordering      | 7                              | 'ordering'
          ordering      | ["event_time"]                 | 'ordering'
          buckets       | true                           | 'buckets'
          buckets       | 64.0                           | 'buckets'
          buckets       | 4294967360                     | 'buckets'
          buckets       | 1000001                        | 1000000
          bucket_by     | "user_id"                      | 'bucket_by'
          partition_by  | null                           | 'partition_by'
          reducers      | []                             | 'reducers'
          reducers      | {"spend": "LatestNotNull"}     | 'spend'
          reducers      | {"spend": {}}                  | 'type'
          reducers      | {"spend": {"type": 7}}         | 'type'
          column_groups | ["clicks"]                     | 'column_groups'
          column_groups | {"g": ["clicks"]}              | 'g'
          column_groups | {"g": {"doc": ""}}             | 'columns'
          column_groups | {"g": {"columns": ["clicks"], "doc": 7}} | 'doc'
          column_groups | {"Clicks": {"columns": ["last_page"]}}   | 'clicks'
          column_groups | {"a.b": {"columns": ["clicks"]}}         | 'a.b'
          column_groups | {"g": {"columns": ["clicks"]}, "G": {"columns": ["last_page"]}} | differs only in case
          comment       | 7                              | 'comment'
          schema        | 7                              | 'schema'
          schema        | {"type": "struct"}             | schema
          """)
  void aMemberOfAnotherShape(String member, String value, String says) {
    ObjectNode full = CaseFiles.json("spec/compound_key.json").get("spec").deepCopy();
    full.set(member, SpecJson.parse(value));
    assertRefused(full.toString(), "DEFINITION", says);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "zork"                                                            | zork
          "decimal(39, 0)"                                                  | 38
          "unknown"                                                         | 'spend'
          "variant"                                                         | 'spend'
          "time"                                                            | 'spend'
          {"type": "struct", "fields": []}                                  | 'spend'
          {"type": "list", "element-id": 9, "element": "timestamptz_ns", "element-required": false} | 'spend'
          {"type": "struct", "fields": [{"id": 9, "name": "", "required": false, "type": "int"}]} | 'spend'
          {"type": "struct", "fields": [{"id": 9, "name": "x", "required": false, "type": "int"}, {"id": 10, "name": "X", "required": false, "type": "int"}]} | 'X'
          """)
  void aTypeThatNoTableCanHave(String type, String says) {
    ObjectNode full = CaseFiles.json("spec/compound_key.json").get("spec").deepCopy();
    ((ObjectNode) full.get("schema").get("fields").get(5)).set("type", SpecJson.parse(type));
    assertRefused(full.toString(), "DEFINITION", says);
  }

  @Test
  void identifierFieldsThatAreNotTheKey() {
    ObjectNode full = CaseFiles.json("spec/compound_key.json").get("spec").deepCopy();
    ((ObjectNode) full.get("schema")).set("identifier-field-ids", SpecJson.parse("[1]"));
    assertRefused(full.toString(), "DEFINITION", "identifier fields");
  }

  @Test
  void whatIsNotSaidIsTheDefault() {
    TableSpec spec =
        TableSpec.fromJson(
            """
            {"spec_version": 1, "key": ["k"], "versions": "commit", "buckets": 4, "bucket_by": ["k"]}
            """);
    assertEquals(
        "{\"bucket_by\":[\"k\"],\"buckets\":4,\"column_groups\":{},\"key\":[\"k\"],\"ordering\":null,"
            + "\"partition_by\":[],\"reducers\":{},\"spec_version\":1,\"versions\":\"commit\"}",
        spec.toJson());
    assertEquals(Reducer.LATEST, spec.reducer("anything"));
    assertEquals("anything", spec.leafOf("anything"));
  }

  @Test
  void latestIsNotWorthSaying() {
    ObjectNode property = CaseFiles.json("spec/compound_key.json").get("property").deepCopy();
    property.set("reducers", SpecJson.parse("{\"clicks\": {\"type\": \"Latest\"}}"));
    assertEquals(Map.of(), TableSpec.fromJson(property.toString()).reducers());
  }
}
