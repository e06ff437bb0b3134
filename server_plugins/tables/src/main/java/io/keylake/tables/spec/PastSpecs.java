package io.keylake.tables.spec;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.jspecify.annotations.Nullable;

/**
 * The specs that a table had while it had other columns. A spec names columns, and a snapshot is
 * read with the columns of its time; so a spec is kept, by the id of the schema that it went with,
 * in a property beside that of the present one. A schema without such a property goes with the
 * present spec.
 */
public final class PastSpecs {
  private static final String PREFIX = "keylake.spec_of_schema.";

  private PastSpecs() {}

  public static boolean isOne(String property) {
    return property.startsWith(PREFIX);
  }

  /** The properties to set where a spec is about to change. */
  public static Map<String, String> kept(
      Map<String, String> properties, Collection<Integer> schemas, TableSpec spec) {
    Map<String, String> kept = new HashMap<>();
    for (int schemaId : schemas) {
      if (!properties.containsKey(PREFIX + schemaId)) {
        kept.put(PREFIX + schemaId, spec.toJson());
      }
    }
    return kept;
  }

  /** The properties of schemas that the table has forgotten with their last snapshots. */
  public static List<String> forgotten(
      Map<String, String> properties, Collection<Integer> schemas) {
    return properties.keySet().stream()
        .filter(name -> name.startsWith(PREFIX))
        .filter(name -> schemas.stream().noneMatch(id -> name.equals(PREFIX + id)))
        .toList();
  }

  /** The columns and properties of a table at one moment: another thread may refresh it. */
  record Moment(Schema schema, Map<String, String> properties) {
    static Moment of(Table table) {
      if (table instanceof HasTableOperations live && !(table instanceof SerializableTable)) {
        TableMetadata metadata = live.operations().current();
        return new Moment(metadata.schema(), metadata.properties());
      }
      return new Moment(table.schema(), table.properties());
    }

    /** The spec that goes with a schema; null for a table that is not keyed. */
    @Nullable TableSpec specOf(Schema columns) {
      String json = properties.get(TableSpec.PROPERTY);
      if (json == null) {
        return null;
      }
      TableSpec present = TableSpec.fromJson(json);
      String past = properties.get(PREFIX + columns.schemaId());
      return past == null || columns.schemaId() == schema.schemaId()
          ? present
          : TableSpec.fromJson(past).withBuckets(present.buckets());
    }
  }
}
