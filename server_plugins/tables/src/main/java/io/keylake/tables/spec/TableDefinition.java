package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;

/**
 * A keyed table as it is about to be created: from the user's columns and the spec to Iceberg's
 * schema, partitioning, sort order and properties.
 *
 * @param columns the user's columns; identifier fields and nullability are set here
 */
public record TableDefinition(TableSpec spec, Schema columns, String comment) {
  /** A merge holds one row group per run in memory, so files keep theirs small. */
  public static final long ROW_GROUP_BYTES = 16L << 20;

  public TableDefinition {
    DefinitionRules.check(spec, columns);
  }

  /** Refuses a name that no column of a user may have, also that of a hidden column. */
  public static void checkColumnName(String name) {
    DefinitionRules.checkColumnName(name);
  }

  /** Reads the full form of a spec, which carries the columns. */
  public static TableDefinition fromJson(String json) {
    JsonNode node = SpecJson.parse(json);
    TableSpec spec = SpecJson.read(node, Set.of("name", "comment", "schema"));
    if (!node.path("schema").isObject()) {
      throw new KeylakeException(
          DEFINITION, "the table spec has no 'schema'; a new table needs its columns");
    }
    Schema columns = schema(node.get("schema"));
    String comment = SpecJson.optionalText(node, "comment");
    TableDefinition definition = new TableDefinition(spec, columns, comment == null ? "" : comment);
    Set<String> identifiers = columns.identifierFieldNames();
    if (!identifiers.isEmpty() && !identifiers.equals(Set.copyOf(spec.key()))) {
      throw new KeylakeException(
          DEFINITION,
          "the key is %s, but the identifier fields of the schema are %s; make them the same"
              .formatted(spec.key(), identifiers));
    }
    return definition;
  }

  private static Schema schema(JsonNode node) {
    try {
      return SchemaParser.fromJson(node.toString());
    } catch (IllegalArgumentException | ValidationException e) {
      throw new KeylakeException(
          DEFINITION, "the schema in the table spec cannot be read: " + e.getMessage());
    }
  }

  /** The full form of an existing table's spec. */
  public static String describe(Table table, String name) {
    return describe(table, name, KeyedSchema.of(table));
  }

  /** The same of the columns of an experiment. */
  public static String describe(Table table, String name, KeyedSchema keyed) {
    Map<String, Object> members = new TreeMap<>(SpecJson.members(keyed.spec()));
    members.put("name", name);
    members.put("comment", table.properties().getOrDefault("comment", ""));
    members.put("schema", SpecJson.parse(SchemaParser.toJson(keyed.visible())));
    return SpecJson.write(members);
  }

  /** The Iceberg schema: the user's columns and the hidden ones, with ids of their own. */
  public Schema icebergSchema() {
    List<NestedField> fields = new ArrayList<>();
    for (NestedField field : columns.columns()) {
      boolean isKey = spec.key().contains(field.name());
      checkDefault(field, isKey);
      boolean hasDoc = field.doc() != null && !field.doc().isEmpty();
      fields.add(
          NestedField.from(field).isOptional(!isKey).withDoc(hasDoc ? field.doc() : null).build());
    }
    int[] nextId = {
      TypeUtil.indexById(columns.asStruct()).keySet().stream()
          .mapToInt(Integer::intValue)
          .max()
          .orElse(0)
    };
    if (storesBucket()) {
      fields.add(
          NestedField.required(
              ++nextId[0],
              KeyedSchema.BUCKET,
              Types.IntegerType.get(),
              "Bucket of the row's key."));
    }
    if (spec.groups() != null) {
      fields.add(
          NestedField.required(
              ++nextId[0], KeyedSchema.GROUP, Types.IntegerType.get(), "Group of the row's key."));
    }
    fields.add(mergeInfo(nextId));
    Schema unidentified = new Schema(fields);
    Set<Integer> identifiers = new LinkedHashSet<>();
    spec.key().forEach(name -> identifiers.add(unidentified.asStruct().field(name).fieldId()));
    return new Schema(fields, identifiers);
  }

  private void checkDefault(NestedField field, boolean isKey) {
    if (field.writeDefault() != null && (isKey || field.name().equals(spec.ordering()))) {
      throw new KeylakeException(
          DEFINITION,
          "%s column '%s' has a default; leave DEFAULT out and write its value with each row"
              .formatted(isKey ? "key" : "ordering", field.name()));
    }
  }

  private NestedField mergeInfo(int[] nextId) {
    Set<String> names = new LinkedHashSet<>();
    columns.columns().stream()
        .filter(field -> !spec.key().contains(field.name()))
        .forEach(field -> names.add(spec.leafOf(field.name())));
    List<NestedField> leaves =
        names.stream()
            .map(name -> NestedField.optional(++nextId[0], name, Types.LongType.get()))
            .toList();
    List<NestedField> parts = new ArrayList<>();
    parts.addAll(
        List.of(
            NestedField.optional(
                ++nextId[0],
                KeyedSchema.VERSION,
                Types.LongType.get(),
                "Null: the ordering column's value."),
            NestedField.optional(
                ++nextId[0],
                KeyedSchema.WRITTEN,
                Types.LongType.get(),
                "How far the newest write lies behind."),
            NestedField.optional(
                ++nextId[0],
                KeyedSchema.DELETED,
                Types.LongType.get(),
                "How far the newest tombstone lies behind."),
            NestedField.optional(
                ++nextId[0],
                KeyedSchema.COLUMNS,
                Types.StructType.of(leaves),
                "How far each value lies behind; null: absent.")));
    List<NestedField> states =
        columns.columns().stream()
            .filter(field -> spec.reducer(field.name()).hasState(field.type()))
            .map(field -> KeyedSchema.state(++nextId[0], field.name()))
            .toList();
    if (!states.isEmpty()) {
      parts.add(KeyedSchema.states(++nextId[0], states));
    }
    return NestedField.optional(
        ++nextId[0],
        KeyedSchema.MERGE_INFO,
        Types.StructType.of(parts),
        "Versions of the row and its values.");
  }

  public PartitionSpec partitionSpec(Schema icebergSchema) {
    PartitionSpec.Builder builder = PartitionSpec.builderFor(icebergSchema);
    spec.partitionBy().forEach(builder::identity);
    if (storesBucket()) {
      builder.identity(KeyedSchema.BUCKET);
    } else {
      String column = spec.bucketBy().get(0);
      builder.bucket(column, spec.buckets(), column + "_bucket");
    }
    return builder.build();
  }

  public SortOrder sortOrder(Schema icebergSchema) {
    SortOrder.Builder builder = SortOrder.builderFor(icebergSchema);
    KeyedSchema.sortKey(spec, icebergSchema).forEach(field -> builder.asc(field.name()));
    return builder.build();
  }

  /**
   * @param given what the user wishes; wins over the defaults
   */
  public Map<String, String> properties(Map<String, String> given) {
    Map<String, String> properties = new HashMap<>();
    properties.put(TableProperties.FORMAT_VERSION, "2");
    properties.put(TableProperties.PARQUET_COMPRESSION, "zstd");
    properties.put(TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES, String.valueOf(ROW_GROUP_BYTES));
    // Commits never conflict, so all that one needs is another try while others come in between.
    properties.put(TableProperties.COMMIT_NUM_RETRIES, "100");
    properties.put(TableProperties.COMMIT_MIN_RETRY_WAIT_MS, "50");
    properties.put(TableProperties.COMMIT_MAX_RETRY_WAIT_MS, "5000");
    properties.putAll(MetadataLog.missing(given));
    if (!comment.isEmpty()) {
      properties.put("comment", comment);
    }
    properties.putAll(given);
    properties.put(TableSpec.PROPERTY, spec.toJson());
    return properties;
  }

  private boolean storesBucket() {
    return KeyedSchema.storesBucket(
        spec, spec.bucketBy().stream().map(columns.asStruct()::field).toList());
  }
}
