package io.keylake.tables.indexes;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.SpecJson;
import io.keylake.tables.spec.TableSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.iceberg.types.Types.NestedField;

/**
 * The columns of whose values each data file has a filter. Columns of the key have one, unless a
 * property of Iceberg says that they have none; other columns have one where it says so. Iceberg
 * carries the property on when a column is renamed, and forgets it with a column that is dropped.
 *
 * <p>A filter tells files that do not have a value. A merged row has each value from one of the
 * files of its section, so a section of which no file has the value has no row with it. This holds
 * for values that were written, and not for those of accumulators.
 */
public final class ValueIndexes {
  /** The property of a column, of which the name follows. */
  public static final String PREFIX = TableProperties.PARQUET_BLOOM_FILTER_COLUMN_ENABLED_PREFIX;

  /** The number of the commit before an index was added, by field id; files from then lack it. */
  public static final String SINCE = "keylake.indexed_since";

  /** The most columns besides the key; a writer holds eight bytes for each value of a file. */
  public static final int MOST = 8;

  private static final Set<TypeID> TYPES =
      Set.of(
          TypeID.INTEGER,
          TypeID.LONG,
          TypeID.DATE,
          TypeID.TIMESTAMP,
          TypeID.STRING,
          TypeID.BINARY,
          TypeID.UUID,
          TypeID.DECIMAL);

  private ValueIndexes() {}

  /** The columns of the key that have filters. */
  public static List<NestedField> key(Map<String, String> properties, KeyedSchema schema) {
    return schema.key().stream()
        .filter(field -> !"false".equalsIgnoreCase(properties.get(PREFIX + field.name())))
        .toList();
  }

  /** The other columns that have them. */
  public static List<NestedField> values(Map<String, String> properties, KeyedSchema schema) {
    if (properties.keySet().stream().noneMatch(name -> name.startsWith(PREFIX))) {
      return List.of(); // as of most tables, whose columns may be thousands
    }
    return schema.values().stream()
        .filter(field -> isOn(properties, field.name()))
        .filter(field -> TYPES.contains(field.type().typeId()))
        .filter(field -> !schema.spec().reducer(field.name()).accumulates())
        .limit(MOST)
        .toList();
  }

  private static boolean isOn(Map<String, String> properties, String column) {
    return "true".equalsIgnoreCase(properties.get(PREFIX + column));
  }

  /** Gives a column an index: of all files that are written from now on. */
  public static void add(Table table, String column) {
    KeyedSchema schema = KeyedSchema.of(table);
    String name = written(schema, column);
    if (schema.spec().key().contains(name)) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' is of the key, whose columns have filters in each file; index another column"
              .formatted(name));
    }
    Map<String, String> properties = new HashMap<>(table.properties());
    properties.put(PREFIX + name, "true");
    check(properties, schema.spec(), schema.visible());
    change(table, properties, Set.of(name));
  }

  /** Takes the index of a column back; filters in files that have them stay, and nobody asks. */
  public static void drop(Table table, String column) {
    KeyedSchema schema = KeyedSchema.of(table);
    String name = written(schema, column);
    List<String> indexed =
        values(table.properties(), schema).stream().map(NestedField::name).toList();
    if (!indexed.contains(name)) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' has no index; %s"
              .formatted(
                  name,
                  indexed.isEmpty()
                      ? "the table has none"
                      : "those that have one are " + String.join(", ", indexed)));
    }
    Map<String, String> properties = new HashMap<>(table.properties());
    properties.remove(PREFIX + name);
    change(table, properties, Set.of());
  }

  /**
   * Notes since when a table has indices, after a statement has set their properties.
   *
   * @param added columns whose properties were set
   */
  public static void note(Table table, Set<String> added) {
    table.refresh();
    change(table, new HashMap<>(table.properties()), added);
  }

  private static void change(Table table, Map<String, String> properties, Set<String> added) {
    Map<Integer, Long> known = since(table.properties());
    Map<String, Long> since = new TreeMap<>();
    long last = ((HasTableOperations) table).operations().current().lastSequenceNumber();
    for (NestedField field : values(properties, KeyedSchema.of(table))) {
      long before = added.contains(field.name()) ? last : 0; // others came with the table
      since.put(String.valueOf(field.fieldId()), known.getOrDefault(field.fieldId(), before));
    }
    properties.put(SINCE, SpecJson.write(since));
    UpdateProperties update = CertainOperations.of(table).updateProperties();
    properties.forEach(
        (name, value) -> {
          if (!value.equals(table.properties().get(name))) {
            update.set(name, value);
          }
        });
    table.properties().keySet().stream()
        .filter(name -> !properties.containsKey(name))
        .forEach(update::remove);
    update.commit();
    table.refresh();
  }

  private static Map<Integer, Long> since(Map<String, String> properties) {
    Map<Integer, Long> since = new HashMap<>();
    JsonNode said = SpecJson.parse(properties.getOrDefault(SINCE, "{}"));
    said.fieldNames().forEachRemaining(id -> since.put(Integer.valueOf(id), said.get(id).asLong()));
    return since;
  }

  /** The commit up to which files lack an index that the table has; 0 where none does. */
  public static long lackedUntil(Table table) {
    return since(table.properties()).values().stream().mapToLong(Long::longValue).max().orElse(0);
  }

  /** The commit up to which files lack the index of a column; 0 where none does. */
  public static long lackedUntil(Table table, NestedField column) {
    return since(table.properties()).getOrDefault(column.fieldId(), 0L);
  }

  private static String written(KeyedSchema schema, String column) {
    NestedField field = schema.visible().asStruct().caseInsensitiveField(column);
    return field == null ? column : field.name();
  }

  /**
   * Refuses an index that the table cannot have.
   *
   * @param properties all of the table, as they would be
   * @param columns those that users see
   */
  public static void check(Map<String, String> properties, TableSpec spec, Schema columns) {
    int indexes = 0;
    for (Map.Entry<String, String> property : properties.entrySet()) {
      if (property.getKey().startsWith(PREFIX)) {
        String column = property.getKey().substring(PREFIX.length());
        boolean isOn = isOn(property.getKey(), property.getValue());
        if (isOn && !spec.key().contains(column)) {
          checkColumn(column, spec, columns);
          indexes++;
        }
      }
    }
    if (indexes > MOST) {
      throw new KeylakeException(
          DEFINITION,
          "the table would have %d indices of values, and may have %d; leave out those that no query asks"
              .formatted(indexes, MOST));
    }
  }

  private static boolean isOn(String property, String value) {
    if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
      throw new KeylakeException(
          DEFINITION, "property '%s' is '%s'; it must be true or false".formatted(property, value));
    }
    return value.equalsIgnoreCase("true");
  }

  private static void checkColumn(String column, TableSpec spec, Schema columns) {
    NestedField field = columns.asStruct().field(column);
    if (field == null) {
      throw new KeylakeException(
          DEFINITION,
          "there is no column '%s' to index; an index is of a column of the table, and not of a member of one; its columns are %s"
              .formatted(
                  column,
                  String.join(", ", columns.columns().stream().map(NestedField::name).toList())));
    }
    if (!TYPES.contains(field.type().typeId())) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' cannot have an index: it is %s; an index is of whole numbers, decimals, dates, timestamps, text, binary or uuids"
              .formatted(column, field.type()));
    }
    if (spec.reducer(column).accumulates()) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' cannot have an index: it accumulates, so a file has a part of its value; index a column whose values are written as they are"
              .formatted(column));
    }
  }
}
