package io.keylake.tables.staged;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.history.Positions;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.lateness.Lateness;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.PastSpecs;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.spec.TableSpec;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.NestedField;

/**
 * The metadata with which a table is replaced by a keyed one:
 *
 * <ul>
 *   <li>A table of the same definition stays the same table. Its rows are overwritten, and history,
 *       changes and branches go on.
 *   <li>With another definition it begins a history of its own. All its columns get new ids, so
 *       that no file, commit or writer of the old definition can be taken for one of the new. The
 *       old snapshots stay until they expire, and are read by the old definition.
 * </ul>
 *
 * @param given properties that the statement names
 */
record Replacement(
    Table table, TableMetadata base, TableDefinition definition, Map<String, String> given) {
  private static final String OWN = "keylake.";
  private static final List<String> POLICIES =
      List.of(CompactionPolicy.PROPERTY, RetentionPolicy.PROPERTY, Lateness.PROPERTY);

  TableMetadata metadata() {
    return isSame() ? overwritten() : replaced();
  }

  /** The definition is that of the table, but for comments and properties. */
  private boolean isSame() {
    if (!KeyedSchema.isKeyed(table)) {
      return false;
    }
    KeyedSchema schema = KeyedSchema.of(table);
    return schema.spec().equals(definition.spec())
        && columns(schema.visible()).equals(columns(definition.columns()));
  }

  /** Names and types in their order, without ids. */
  private static List<String> columns(Schema schema) {
    return TypeUtil.assignIncreasingFreshIds(new Schema(schema.columns())).columns().stream()
        .map(column -> column.name() + " " + column.type())
        .toList();
  }

  private TableMetadata overwritten() {
    TableMetadata.Builder same = TableMetadata.buildFrom(base);
    Schema commented = commented();
    if (!commented.sameSchema(base.schema())) {
      same.setCurrentSchema(commented, base.lastColumnId());
    }
    Map<String, String> named = new HashMap<>(definition.properties(given));
    named.keySet().removeIf(name -> !given.containsKey(name));
    named.remove(TableProperties.FORMAT_VERSION);
    return same.setProperties(named).build();
  }

  /** The columns of the table with the comments and defaults of the statement. */
  private Schema commented() {
    List<NestedField> fields = base.schema().columns().stream().map(this::commented).toList();
    return new Schema(fields, base.schema().identifierFieldIds());
  }

  private NestedField commented(NestedField field) {
    NestedField said = definition.columns().asStruct().field(field.name());
    return said == null
        ? field
        : NestedField.from(field)
            .withDoc(said.doc())
            .withWriteDefault(said.writeDefaultLiteral())
            .build();
  }

  private TableMetadata replaced() {
    checkNoBranches();
    Schema schema = definition.icebergSchema();
    PartitionSpec spec = definition.partitionSpec(schema);
    // Iceberg takes the ids of columns that have the same names; here there are none.
    TableMetadata withoutColumns =
        TableMetadata.buildFrom(base)
            .setDefaultPartitionSpec(PartitionSpec.unpartitioned())
            .setDefaultSortOrder(SortOrder.unsorted())
            .setCurrentSchema(new Schema(), base.lastColumnId())
            .build();
    TableMetadata replaced =
        withoutColumns.buildReplacement(
            schema, spec, definition.sortOrder(schema), base.location(), properties());
    return TableMetadata.buildFrom(replaced)
        .removeProperties(forgotten())
        .setProperties(remembered())
        .build();
  }

  private void checkNoBranches() {
    Set<String> branches = new HashSet<>();
    base.refs()
        .forEach(
            (name, ref) -> {
              if (ref.isBranch() && !name.equals(SnapshotRef.MAIN_BRANCH)) {
                branches.add(name);
              }
            });
    if (!branches.isEmpty()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "table %s has the branches %s, which hold rows of its definition; drop them before it is replaced by another definition"
              .formatted(table.name(), branches.stream().sorted().toList()));
    }
  }

  /** The properties that the statement names, those of the table, and what new tables have. */
  private Map<String, String> properties() {
    Map<String, String> properties = new HashMap<>(definition.properties(given));
    base.properties()
        .forEach(
            (name, value) -> {
              if (!given.containsKey(name) && !name.equals(TableSpec.PROPERTY)) {
                properties.put(name, value);
              }
            });
    int version = Integer.parseInt(given.getOrDefault(TableProperties.FORMAT_VERSION, "2"));
    properties.put(
        TableProperties.FORMAT_VERSION, String.valueOf(Math.max(version, base.formatVersion())));
    return properties;
  }

  /** The names of properties that were noted of the commits of the old definition. */
  private Set<String> forgotten() {
    Set<String> forgotten = new HashSet<>(base.properties().keySet());
    forgotten.removeIf(
        name ->
            !name.startsWith(OWN)
                || name.equals(TableSpec.PROPERTY)
                || POLICIES.contains(name)
                || Positions.isOne(name)
                || PastSpecs.isOne(name)
                || PastTable.isOne(name));
    return forgotten;
  }

  /** The definitions by which the old snapshots of a keyed table are read. */
  private Map<String, String> remembered() {
    if (!KeyedSchema.isKeyed(table)) {
      return Map.of();
    }
    TableSpec spec = KeyedSchema.of(table).spec();
    Map<String, String> remembered = new HashMap<>(PastTable.remembered(base));
    remembered.putAll(PastSpecs.kept(base.properties(), base.schemasById().keySet(), spec));
    return remembered;
  }
}
