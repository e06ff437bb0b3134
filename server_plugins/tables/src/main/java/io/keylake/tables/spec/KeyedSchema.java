package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_KEYED;

import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.hashing.BucketHash;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortField;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.BinaryType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * The columns of a keyed table in its Iceberg schema: the user's columns, the hidden {@value
 * #BUCKET} where the bucket is not Iceberg's own transform, the hidden {@value #GROUP} where the
 * table has groups, and {@value #MERGE_INFO} with one version leaf per value column or column
 * group.
 *
 * @param table the whole Iceberg schema
 * @param key the key columns, in declared order
 * @param values the other user columns, in schema order
 * @param mergeInfo the hidden struct of versions
 */
@GuestApi
public record KeyedSchema(
    TableSpec spec,
    Schema table,
    List<NestedField> key,
    List<NestedField> values,
    NestedField mergeInfo)
    implements Serializable {
  public static final String MERGE_INFO = "_merge_info";
  public static final String BUCKET = "_bucket";
  public static final String GROUP = "_group";

  /** The column of a read of what was written: whether the row was deleted. */
  public static final String IS_DELETED = "_deleted";

  public static final String VERSION = "version";
  public static final String WRITTEN = "written";
  public static final String DELETED = "deleted";
  public static final String COLUMNS = "columns";
  public static final String STATES = "states";

  /** The path of the struct of version leaves. */
  public static final String LEAVES = MERGE_INFO + "." + COLUMNS;

  /** The path of the struct of states. */
  public static final String ALL_STATES = MERGE_INFO + "." + STATES;

  /**
   * The comment of a state whose column had a narrower type before. Nothing else tells: a manifest
   * does not say which type the values of a file have.
   */
  public static final String WIDENED = "Of a column that was widened; values can be rounded more.";

  public static boolean isKeyed(Table table) {
    return table.properties().containsKey(TableSpec.PROPERTY);
  }

  public static KeyedSchema of(Table table) {
    PastSpecs.Moment now = PastSpecs.Moment.of(table);
    return of(table, now, now.schema());
  }

  /**
   * @param schema one that the table has or had
   */
  public static KeyedSchema of(Table table, Schema schema) {
    return of(table, PastSpecs.Moment.of(table), schema);
  }

  private static KeyedSchema of(Table table, PastSpecs.Moment now, Schema schema) {
    TableSpec spec = now.specOf(schema);
    if (spec == null) {
      throw new KeylakeException(
          NOT_KEYED,
          "table %s is not keyed: it has no property '%s'"
              .formatted(table.name(), TableSpec.PROPERTY));
    }
    Set<Integer> hidden = Experiment.hidden(now.properties(), schema.schemaId());
    return hidden.isEmpty() ? of(spec, schema) : with(spec, schema, not(hidden));
  }

  /** Main with the columns of experiments, and without those that one of them does not show. */
  public static KeyedSchema withExperiments(Table table, List<Experiment> experiments) {
    PastSpecs.Moment now = PastSpecs.Moment.of(table);
    TableSpec spec = Objects.requireNonNull(now.specOf(now.schema()), "a keyed table");
    Set<Integer> left = Experiment.hidden(now.properties(), now.schema().schemaId());
    experiments.forEach(each -> left.addAll(each.dropped()));
    experiments.forEach(each -> each.added().forEach(left::remove));
    return with(spec, now.schema(), not(left));
  }

  /** The columns that the files of an experiment have: the key, and its own. */
  public static KeyedSchema ofExperiment(Table table, Experiment experiment) {
    PastSpecs.Moment now = PastSpecs.Moment.of(table);
    TableSpec spec = Objects.requireNonNull(now.specOf(now.schema()), "a keyed table");
    Set<String> key = Set.copyOf(spec.key());
    return with(
        spec,
        now.schema(),
        field -> key.contains(field.name()) || experiment.added().contains(field.fieldId()));
  }

  /** The columns that the files of a branch have; null for main. */
  public static KeyedSchema ofBranch(Table table, @Nullable String branch) {
    Experiment experiment = Experiment.ofBranch(table.properties(), branch);
    return experiment == null ? of(table) : ofExperiment(table, experiment);
  }

  private static Predicate<NestedField> not(Set<Integer> hidden) {
    return field -> !hidden.contains(field.fieldId());
  }

  /** Some of the user's columns, with the leaves that these have. */
  private static KeyedSchema with(TableSpec spec, Schema schema, Predicate<NestedField> isThere) {
    Set<String> names = new LinkedHashSet<>();
    Set<String> leaves = new LinkedHashSet<>();
    for (NestedField field : schema.columns()) {
      if (!isHidden(field.name()) && isThere.test(field)) {
        names.add(field.name());
        leaves.add(spec.leafOf(field.name()));
      }
    }
    List<NestedField> fields = new ArrayList<>();
    for (NestedField field : schema.columns()) {
      if (field.name().equals(MERGE_INFO) && field.type().isStructType()) {
        fields.add(NestedField.from(field).ofType(stamps(field, leaves)).build());
      } else if (isHidden(field.name()) || names.contains(field.name())) {
        fields.add(field);
      }
    }
    return of(spec.of(names), new Schema(schema.schemaId(), fields, schema.identifierFieldIds()));
  }

  private static StructType stamps(NestedField mergeInfo, Set<String> leaves) {
    List<NestedField> parts = new ArrayList<>();
    for (NestedField part : mergeInfo.type().asStructType().fields()) {
      if (!part.type().isStructType()) {
        parts.add(part);
        continue;
      }
      StructType some =
          StructType.of(
              part.type().asStructType().fields().stream()
                  .filter(leaf -> leaves.contains(leaf.name()))
                  .toList());
      if (part.name().equals(COLUMNS) || !some.fields().isEmpty()) {
        parts.add(NestedField.from(part).ofType(some).build());
      }
    }
    return StructType.of(parts);
  }

  public static KeyedSchema of(TableSpec spec, Schema schema) {
    NestedField mergeInfo = schema.findField(MERGE_INFO);
    if (mergeInfo == null || !mergeInfo.type().isStructType()) {
      throw new KeylakeException(
          DEFINITION,
          "the table has a spec but no struct column '%s'; create it through keylake"
              .formatted(MERGE_INFO));
    }
    List<NestedField> key = spec.key().stream().map(name -> existing(schema, name)).toList();
    List<NestedField> values =
        schema.columns().stream()
            .filter(field -> !isHidden(field.name()) && !spec.key().contains(field.name()))
            .toList();
    KeyedSchema keyed = new KeyedSchema(spec, schema, key, values, mergeInfo);
    values.forEach(keyed::leafOf);
    return keyed;
  }

  private static NestedField existing(Schema schema, String name) {
    NestedField field = schema.asStruct().field(name);
    if (field == null) {
      throw new KeylakeException(
          DEFINITION, "key column '%s' is not in the table's schema".formatted(name));
    }
    return field;
  }

  public static boolean isHidden(String column) {
    return column.equals(MERGE_INFO) || column.equals(BUCKET) || column.equals(GROUP);
  }

  public boolean hasBucketColumn() {
    return table.asStruct().field(BUCKET) != null;
  }

  public boolean hasGroups() {
    return spec.groups() != null;
  }

  /**
   * The columns by which rows are sorted in files, and merged: the key, and before it the group
   * where there is one. What identifies a row is the {@link #key} alone.
   */
  public List<NestedField> sortKey() {
    return sortKey(spec, table);
  }

  static List<NestedField> sortKey(TableSpec spec, Schema table) {
    Stream<String> group = spec.groups() == null ? Stream.empty() : Stream.of(GROUP);
    return Stream.concat(group, spec.key().stream()).map(name -> existing(table, name)).toList();
  }

  /**
   * Says whether the bucket is a stored column: it follows from the group, or needs our own hash.
   */
  static boolean storesBucket(TableSpec spec, List<NestedField> bucketBy) {
    return spec.groups() != null || BucketHash.isNeeded(bucketBy);
  }

  public List<NestedField> bucketBy() {
    return spec.bucketBy().stream().map(name -> table.asStruct().field(name)).toList();
  }

  /** The ordering column, or null. */
  public @Nullable NestedField ordering() {
    return spec.ordering() == null ? null : table.asStruct().field(spec.ordering());
  }

  public NestedField version() {
    return mergeInfo.type().asStructType().field(VERSION);
  }

  public NestedField written() {
    return mergeInfo.type().asStructType().field(WRITTEN);
  }

  public NestedField deleted() {
    return mergeInfo.type().asStructType().field(DELETED);
  }

  public StructType leaves() {
    return mergeInfo.type().asStructType().field(COLUMNS).type().asStructType();
  }

  /** The states of accumulators whose values do not say all; without members where none does. */
  public StructType states() {
    NestedField states = mergeInfo.type().asStructType().field(STATES);
    return states == null ? StructType.of() : states.type().asStructType();
  }

  static NestedField state(int id, String column) {
    return NestedField.optional(id, column, BinaryType.get());
  }

  static NestedField states(int id, List<NestedField> states) {
    return NestedField.optional(
        id, STATES, StructType.of(states), "What values of accumulators do not say.");
  }

  /** The state of a value column; null for one whose value says all. */
  public @Nullable NestedField stateOf(NestedField value) {
    return spec.reducer(value.name()).accumulates() ? states().field(value.name()) : null;
  }

  /** A read gives the stored value of a column that has a state, as it is stored. */
  public boolean isShownWithState(NestedField value) {
    NestedField state = stateOf(value);
    return spec.reducer(value.name()).isShownWithState(value.type())
        && (state == null || !WIDENED.equals(state.doc()));
  }

  /** The sort order that every file of the table has: ascending by the sort key. */
  public SortOrder keyOrder(Table table) {
    return table.sortOrders().values().stream()
        .filter(order -> isByKey(order, sortKey()))
        .findFirst()
        .orElseThrow(
            () ->
                new KeylakeException(
                    DEFINITION,
                    "table %s has no sort order by its key; create it through keylake"
                        .formatted(table.name())));
  }

  private static boolean isByKey(SortOrder order, List<NestedField> key) {
    List<Integer> sorted =
        order.fields().stream()
            .filter(
                field -> field.transform().isIdentity() && field.direction() == SortDirection.ASC)
            .map(SortField::sourceId)
            .toList();
    return sorted.size() == order.fields().size()
        && sorted.equals(key.stream().map(NestedField::fieldId).toList());
  }

  /** The version leaf of a value column. */
  public NestedField leafOf(NestedField value) {
    NestedField leaf = leaves().field(spec.leafOf(value.name()));
    if (leaf == null) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' has no version leaf in '%s'; columns are added and renamed through keylake"
              .formatted(value.name(), MERGE_INFO));
    }
    return leaf;
  }

  /** The user's columns, as queries see them. */
  public Schema visible() {
    List<NestedField> columns =
        table.columns().stream()
            .filter(field -> !isHidden(field.name()))
            .collect(Collectors.toList());
    return new Schema(columns, table.identifierFieldIds());
  }

  /**
   * Field ids whose file statistics planning needs: keys, versions, and the leaves of the wanted
   * columns.
   */
  public Set<Integer> statistics(Set<Integer> wantedLeaves) {
    Set<Integer> ids = new LinkedHashSet<>();
    sortKey().forEach(field -> ids.add(field.fieldId()));
    if (ordering() != null) {
      ids.add(ordering().fieldId());
    }
    ids.add(version().fieldId());
    ids.add(written().fieldId());
    ids.add(deleted().fieldId());
    ids.addAll(wantedLeaves);
    return ids;
  }

  /** The fields of which every file needs exact statistics, by full name. */
  public List<String> exactStatistics() {
    List<String> names = new ArrayList<>();
    sortKey().forEach(field -> names.add(field.name()));
    if (spec.ordering() != null) {
      names.add(spec.ordering());
    }
    String prefix = MERGE_INFO + ".";
    names.addAll(List.of(prefix + VERSION, prefix + WRITTEN, prefix + DELETED));
    leaves().fields().forEach(leaf -> names.add(LEAVES + "." + leaf.name()));
    return names;
  }

  /** The fields of which every file needs to say how many nulls they have, by full name. */
  public List<String> countedStatistics() {
    return states().fields().stream().map(state -> ALL_STATES + "." + state.name()).toList();
  }

  /** Value columns by their leaf's name. */
  public Map<String, List<NestedField>> valuesByLeaf() {
    Function<NestedField, String> leafName = value -> leafOf(value).name();
    return values.stream().collect(Collectors.groupingBy(leafName));
  }
}
