package io.keylake.tables.staged;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.OlderDefinition;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.SpecJson;
import io.keylake.tables.spec.TableSpec;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.types.Types.NestedField;

/**
 * A table as it was before it was replaced by one of another definition. A property for each keyed
 * definition that was replaced says how its commits are read; a plain table needs none.
 */
public final class PastTable {
  private static final String PREFIX = "keylake.replaced.";

  /** The properties by which files are read. */
  private static final Set<String> FACTS = Set.of(TableSpec.PROPERTY, BucketCounts.PROPERTY);

  private PastTable() {}

  /** A property is of a definition that was replaced. */
  public static boolean isOne(String property) {
    return property.startsWith(PREFIX);
  }

  /** The property to set when a keyed table is replaced. */
  public static Map<String, String> remembered(TableMetadata replaced) {
    Map<String, String> facts = new HashMap<>(replaced.properties());
    facts.keySet().retainAll(FACTS);
    Map<String, Object> members =
        Map.of(
            "schema", replaced.schema().schemaId(),
            "partition_spec", replaced.defaultSpecId(),
            "properties", facts);
    NestedField versions = replaced.schema().asStruct().field(KeyedSchema.MERGE_INFO);
    return Map.of(PREFIX + versions.fieldId(), SpecJson.write(members));
  }

  /**
   * The table as it was at a commit from before it was replaced, to be read only; the table itself
   * at any other.
   */
  public static Table at(Table table, Snapshot commit) {
    Schema then = KeyedSchema.isKeyed(table) ? OlderDefinition.columns(table, commit) : null;
    if (then == null) {
      return table;
    }
    TableOperations operations = ((HasTableOperations) table).operations();
    TableMetadata now = operations.current();
    NestedField versions = then.asStruct().field(KeyedSchema.MERGE_INFO);
    TableMetadata past;
    if (versions == null) {
      past = plain(now, then);
    } else {
      String remembered = now.properties().get(PREFIX + versions.fieldId());
      if (remembered == null) {
        throw OlderDefinition.refusal(table.name(), commit);
      }
      past = keyed(now, SpecJson.parse(remembered));
    }
    return new BaseTable(new ReadOnly(operations, past), table.name());
  }

  private static TableMetadata plain(TableMetadata now, Schema columns) {
    return TableMetadata.buildFrom(now)
        .setDefaultPartitionSpec(PartitionSpec.unpartitioned())
        .setDefaultSortOrder(SortOrder.unsorted())
        .setCurrentSchema(columns.schemaId())
        .removeProperties(FACTS)
        .build();
  }

  private static TableMetadata keyed(TableMetadata now, JsonNode remembered) {
    Map<String, String> facts = new HashMap<>();
    remembered
        .get("properties")
        .properties()
        .forEach(each -> facts.put(each.getKey(), each.getValue().textValue()));
    Set<String> others = new HashSet<>(FACTS);
    others.retainAll(now.properties().keySet());
    others.removeAll(facts.keySet());
    return TableMetadata.buildFrom(now)
        .setDefaultPartitionSpec(remembered.get("partition_spec").intValue())
        .setDefaultSortOrder(SortOrder.unsorted())
        .setCurrentSchema(remembered.get("schema").intValue())
        .removeProperties(others)
        .setProperties(facts)
        .build();
  }
}
