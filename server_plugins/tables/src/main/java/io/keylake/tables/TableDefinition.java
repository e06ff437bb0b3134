package io.keylake.tables;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode;
import org.apache.iceberg.types.Type;
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
  private static final Set<Type.TypeID> KEY_TYPES =
      Set.of(
          Type.TypeID.BOOLEAN,
          Type.TypeID.INTEGER,
          Type.TypeID.LONG,
          Type.TypeID.DATE,
          Type.TypeID.TIMESTAMP,
          Type.TypeID.STRING,
          Type.TypeID.BINARY,
          Type.TypeID.DECIMAL,
          Type.TypeID.UUID);
  private static final Set<Type.TypeID> ORDERING_TYPES =
      Set.of(Type.TypeID.INTEGER, Type.TypeID.LONG, Type.TypeID.DATE, Type.TypeID.TIMESTAMP);
  private static final List<String> RESERVED_PREFIXES = List.of("_merge_info", "_bucket", "_group");
  private static final Set<String> RESERVED_NAMES =
      Set.of(
          "_file",
          "_pos",
          "_deleted",
          "_spec_id",
          "_partition",
          "_row_id",
          "_last_updated_sequence_number",
          "_change_type",
          "_change_ordinal",
          "_commit_snapshot_id");

  public TableDefinition {
    check(spec, columns);
  }

  /** Reads the full form of a spec, which carries the columns. */
  public static TableDefinition fromJson(String json) {
    JsonNode node = TableSpec.parse(json);
    TableSpec spec = TableSpec.fromNode(node, Set.of("name", "comment", "schema"));
    if (!node.path("schema").isObject()) {
      throw new KeylakeException(
          DEFINITION, "the table spec has no 'schema'; a new table needs its columns");
    }
    Schema columns = SchemaParser.fromJson(node.get("schema").toString());
    return new TableDefinition(spec, columns, node.path("comment").asText(""));
  }

  /** The full form of an existing table's spec. */
  public static String describe(Table table, String name) {
    KeyedSchema keyed = KeyedSchema.of(table);
    Map<String, Object> members = new TreeMap<>(keyed.spec().toMap());
    members.put("name", name);
    members.put("comment", table.properties().getOrDefault("comment", ""));
    members.put("schema", TableSpec.parse(SchemaParser.toJson(keyed.visible())));
    return TableSpec.write(members);
  }

  /** The Iceberg schema: the user's columns and the hidden ones, with ids of their own. */
  public Schema icebergSchema() {
    List<NestedField> fields = new ArrayList<>();
    for (NestedField field : columns.columns()) {
      boolean isKey = spec.key().contains(field.name());
      fields.add(NestedField.from(field).isOptional(!isKey).build());
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
    fields.add(mergeInfo(nextId));
    Schema unidentified = new Schema(fields);
    Set<Integer> identifiers = new LinkedHashSet<>();
    spec.key().forEach(name -> identifiers.add(unidentified.asStruct().field(name).fieldId()));
    return new Schema(fields, identifiers);
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
    List<NestedField> parts =
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
                "How far each value lies behind; null: absent."));
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
    spec.key().forEach(builder::asc);
    return builder.build();
  }

  /**
   * @param given what the user wishes; wins over the defaults
   */
  public Map<String, String> properties(Map<String, String> given) {
    Map<String, String> properties = new HashMap<>();
    properties.put(TableProperties.FORMAT_VERSION, "2");
    properties.put(TableProperties.PARQUET_COMPRESSION, "zstd");
    // A merge holds one row group per run in memory, so fresh files keep theirs small.
    properties.put(TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES, String.valueOf(16L << 20));
    if (!comment.isEmpty()) {
      properties.put("comment", comment);
    }
    properties.putAll(given);
    properties.put(TableSpec.PROPERTY, spec.toJson());
    return properties;
  }

  private boolean storesBucket() {
    return KeyedSchema.storesBucket(
        spec.bucketBy().stream().map(columns.asStruct()::field).toList());
  }

  private static void check(TableSpec spec, Schema columns) {
    Map<String, String> seen = new HashMap<>();
    for (NestedField field : columns.columns()) {
      checkName(field.name(), seen);
      if (TypeUtil.find(new Schema(field), type -> type.typeId() == Type.TypeID.TIME) != null) {
        throw new KeylakeException(
            DEFINITION,
            "column '%s' is of type time, which Spark cannot read from Iceberg; keep it as a long of microseconds"
                .formatted(field.name()));
      }
    }
    for (String name : spec.key()) {
      NestedField field = existing(columns, name, "the key");
      if (!KEY_TYPES.contains(field.type().typeId())) {
        throw new KeylakeException(
            DEFINITION,
            "key column '%s' is of type %s; a key column is boolean, int, long, date, timestamp, string, binary, decimal or uuid"
                .formatted(name, field.type()));
      }
    }
    if (spec.ordering() != null
        && !ORDERING_TYPES.contains(
            existing(columns, spec.ordering(), "ordering").type().typeId())) {
      throw new KeylakeException(
          DEFINITION,
          "ordering column '%s' is of type %s; it must be int, long, date or timestamp"
              .formatted(spec.ordering(), columns.findType(spec.ordering())));
    }
    spec.reducers().keySet().forEach(name -> checkValueColumn(spec, columns, name, "reducers"));
    spec.columnGroups()
        .forEach(
            (group, members) ->
                members
                    .columns()
                    .forEach(name -> checkValueColumn(spec, columns, name, "group " + group)));
    for (String group : spec.columnGroups().keySet()) {
      if (columns.asStruct().field(group) != null
          && !spec.columnGroups().get(group).columns().contains(group)) {
        throw new KeylakeException(
            DEFINITION,
            "the column group '%s' has the name of a column outside it; rename the group"
                .formatted(group));
      }
    }
  }

  private static void checkName(String name, Map<String, String> seen) {
    String lower = name.toLowerCase(Locale.ROOT);
    String other = seen.put(lower, name);
    if (other != null) {
      throw new KeylakeException(
          DEFINITION,
          "columns '%s' and '%s' differ only in case; rename one".formatted(other, name));
    }
    if (name.isEmpty()
        || RESERVED_NAMES.contains(lower)
        || RESERVED_PREFIXES.stream().anyMatch(lower::startsWith)) {
      throw new KeylakeException(
          DEFINITION,
          "column name '%s' is reserved (empty, one of Iceberg's metadata columns, or beginning with %s); rename it"
              .formatted(name, RESERVED_PREFIXES));
    }
  }

  private static void checkValueColumn(TableSpec spec, Schema columns, String name, String what) {
    existing(columns, name, what);
    if (spec.key().contains(name)) {
      throw new KeylakeException(
          DEFINITION,
          "%s names '%s', which is a key column; only value columns can be named"
              .formatted(what, name));
    }
  }

  private static NestedField existing(Schema columns, String name, String what) {
    NestedField field = columns.asStruct().field(name);
    if (field == null) {
      throw new KeylakeException(
          DEFINITION,
          "%s names column '%s', which is not in the schema; its columns are %s"
              .formatted(what, name, columns.columns().stream().map(NestedField::name).toList()));
    }
    return field;
  }
}
