package io.keylake.tables.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.CaseFiles;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.planning.MemoryTables;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a definition lies in Iceberg, as format.md has it, and how it is found there again. */
class TableDefinitionTest {

  private static TableDefinition definition(String golden) {
    String spec = CaseFiles.json("spec/" + golden + ".json").get("spec").toString();
    return TableDefinition.fromJson(spec);
  }

  private static String text(List<NestedField> fields) {
    return fields.stream()
        .map(field -> field.name() + (field.isRequired() ? " required " : " ") + type(field))
        .collect(Collectors.joining(", "));
  }

  private static String type(NestedField field) {
    return field.type().isStructType()
        ? "(" + text(field.type().asStructType().fields()) + ")"
        : field.type().toString();
  }

  @Test
  void aCompoundKeyAndAGroup() {
    Table table = MemoryTables.create(definition("compound_key"));
    assertEquals(
        "user_id required long, day required date, event_time timestamptz, clicks long, last_page string, "
            + "spend double, _bucket required int, _merge_info (version long, written long, deleted long, "
            + "columns (event_time long, behaviour long, spend long))",
        text(table.schema().columns()));
    assertEquals(
        List.of("user_id", "day"),
        table.schema().identifierFieldNames().stream().sorted((a, b) -> b.compareTo(a)).toList());
    assertEquals("Who.", table.schema().findField("user_id").doc());
    assertEquals("Behaviour of one user on one day.", table.properties().get("comment"));
    KeyedSchema keyed = KeyedSchema.of(table);
    assertTrue(keyed.hasBucketColumn());
    assertEquals("behaviour", keyed.leafOf(table.schema().findField("clicks")).name());
    assertEquals("spend", keyed.leafOf(table.schema().findField("spend")).name());
    assertEquals("event_time", keyed.ordering().name());
    assertEquals(
        "user_id required long, day required date, event_time timestamptz, clicks long, last_page string, spend double",
        text(keyed.visible().columns()));
    assertEquals(table.schema().identifierFieldIds(), keyed.visible().identifierFieldIds());
  }

  @ParameterizedTest
  @CsvSource({
    "commit_versions, user_id_bucket: bucket[16](1), user_id",
    "compound_key, _bucket: identity(7), user_id day",
    "partitioned, day: identity(1) tenant: identity(2) user_id_bucket: bucket[8](3), day tenant user_id",
    "uuid_key, _bucket: identity(3), order_id",
    "boolean_key, _bucket: identity(3), flag",
    "key_groups, _bucket: identity(4), _group user_id item",
    "names, ключ_bucket: bucket[2](1), ключ",
  })
  void partitionsAndOrder(String golden, String partitions, String order) {
    Table table = MemoryTables.create(definition(golden));
    assertEquals(
        partitions,
        table.spec().fields().stream()
            .map(f -> "%s: %s(%d)".formatted(f.name(), f.transform(), f.sourceId()))
            .collect(Collectors.joining(" ")));
    KeyedSchema keyed = KeyedSchema.of(table);
    SortOrder keyOrder = keyed.keyOrder(table);
    assertEquals(table.sortOrder(), keyOrder);
    assertEquals(
        order, keyed.sortKey().stream().map(NestedField::name).collect(Collectors.joining(" ")));
    assertEquals(partitions.contains("_bucket: identity"), keyed.hasBucketColumn());
  }

  @Test
  void propertiesOfTheUserWinOverDefaultsButNotOverTheSpec() {
    TableDefinition definition = definition("commit_versions");
    assertEquals("zstd", definition.properties(Map.of()).get("write.parquet.compression-codec"));
    assertFalse(definition.properties(Map.of()).containsKey("comment"));
    Map<String, String> given =
        definition.properties(
            Map.of("write.parquet.compression-codec", "snappy", TableSpec.PROPERTY, "{}"));
    assertEquals("snappy", given.get("write.parquet.compression-codec"));
    assertEquals(definition.spec().toJson(), given.get(TableSpec.PROPERTY));
  }

  @Test
  void columnsAreMadeNullableUnlessTheyAreTheKey() {
    Schema columns =
        new Schema(
            NestedField.optional(1, "k", Types.LongType.get()),
            NestedField.required(2, "v", Types.LongType.get()));
    TableSpec spec =
        TableSpec.fromJson(
            """
            {"spec_version": 1, "key": ["k"], "versions": "commit", "buckets": 4, "bucket_by": ["k"]}
            """);
    Schema stored = new TableDefinition(spec, columns, "").icebergSchema();
    assertTrue(stored.findField("k").isRequired());
    assertTrue(stored.findField("v").isOptional());
  }

  @Test
  void aPlainTableIsNotKeyed() {
    InMemoryCatalog catalog = MemoryTables.catalogWith(definition("commit_versions"));
    Table table = catalog.loadTable(MemoryTables.NAME);
    assertTrue(KeyedSchema.isKeyed(table));
    table.updateProperties().remove(TableSpec.PROPERTY).commit();
    assertFalse(KeyedSchema.isKeyed(table));
    KeylakeException refused = assertThrows(KeylakeException.class, () -> KeyedSchema.of(table));
    assertEquals(KeylakeException.Kind.NOT_KEYED, refused.kind());
  }

  @Test
  void aTableThatSomebodyElseChangedIsRefused() {
    Table noLeaf = MemoryTables.create(definition("commit_versions"));
    noLeaf.updateSchema().addColumn("late", Types.LongType.get()).commit();
    assertDefinition(noLeaf, "'late' has no version leaf");
    Table noInfo = MemoryTables.create(definition("commit_versions"));
    noInfo.updateSchema().deleteColumn("_merge_info").commit();
    assertDefinition(noInfo, "no struct column '_merge_info'");
    Table noKey = MemoryTables.create(definition("commit_versions"));
    noKey.updateSchema().renameColumn("user_id", "person").commit();
    assertDefinition(noKey, "'user_id' is not in the table's schema");
  }

  private static void assertDefinition(Table table, String says) {
    KeylakeException refused = assertThrows(KeylakeException.class, () -> KeyedSchema.of(table));
    assertEquals(KeylakeException.Kind.DEFINITION, refused.kind());
    assertTrue(refused.getMessage().contains(says), refused.getMessage());
  }
}
