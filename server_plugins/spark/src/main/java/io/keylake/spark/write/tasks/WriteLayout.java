package io.keylake.spark.write.tasks;

import io.keylake.spark.keys.KeyText;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.tables.spec.HelperColumn;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import io.keylake.tables.spec.TableSpec.Versions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * The places of columns in the rows that reach the writer, and in those it stores.
 *
 * @param key the key columns
 * @param values the value columns that the rows carry
 * @param partitionBy the key columns by which the table is partitioned before it is bucketed
 * @param bucket position of the bucket
 * @param group position of the group, or -1
 * @param version the column that versions a row, or null where {@code fixedVersion} does
 * @param columnsFrom position of the list of carried columns, or -1
 * @param takesEmptyLists whether a row may carry the key alone
 * @param retracts whether the rows take contributions back
 * @param isByCommit whether commits are the versions, which are not known before they are made
 * @param op position of the operation, or -1
 * @param rowOrder position of the tie break, or -1
 * @param combined position of the states of rows that were combined, or -1
 * @param failed position of the condition that a row does not satisfy, or -1
 * @param stored the columns of the files: what the rows carry, the bucket and the group if they are
 *     stored, and the versions, as far as the rows can have them
 */
public record WriteLayout(
    List<Column> key,
    List<Column> values,
    List<Column> partitionBy,
    int bucket,
    int group,
    @Nullable Helper version,
    int columnsFrom,
    boolean takesEmptyLists,
    boolean retracts,
    boolean isByCommit,
    int op,
    int rowOrder,
    int combined,
    int failed,
    Schema stored)
    implements Serializable {

  /**
   * A column of the incoming rows.
   *
   * @param name as the writer of the rows knows it
   * @param field the table's column
   * @param leaf which of the stored version leaves is its own
   * @param state which of the stored states is its own, or -1
   * @param versionedBy the helper column that versions it, or null
   */
  public record Column(
      String name,
      int position,
      DataType type,
      NestedField field,
      int leaf,
      int state,
      Reducer reducer,
      @Nullable Helper versionedBy)
      implements Serializable {}

  /** A column that holds versions, of rows or of one value column. */
  public record Helper(String name, int position, DataType type) implements Serializable {}

  public static WriteLayout of(StructType rows, KeyedSchema schema, WriteOptions options) {
    Map<String, Integer> positions = positions(rows);
    List<Column> key = new ArrayList<>();
    schema.key().forEach(field -> key.add(column(rows, positions, field, -1, -1, schema, options)));
    List<Column> values = new ArrayList<>();
    List<NestedField> carried =
        schema.values().stream().filter(field -> positions.containsKey(field.name())).toList();
    Set<Integer> stamps = new HashSet<>();
    for (NestedField field : carried) {
      stamps.add(schema.leafOf(field).fieldId());
      NestedField state = schema.stateOf(field);
      if (state != null) {
        stamps.add(state.fieldId());
      }
    }
    List<NestedField> leaves = only(schema.leaves(), stamps);
    List<NestedField> states = only(schema.states(), stamps);
    Map<Integer, Integer> leafOf = placesById(leaves);
    Map<Integer, Integer> stateOf = placesById(states);
    for (NestedField field : carried) {
      int leaf = leafOf.getOrDefault(schema.leafOf(field).fieldId(), -1);
      NestedField ofState = schema.stateOf(field);
      int state = ofState == null ? -1 : stateOf.getOrDefault(ofState.fieldId(), -1);
      values.add(column(rows, positions, field, leaf, state, schema, options));
    }
    List<Column> partitionBy =
        schema.spec().partitionBy().stream() // in the order of the partition's values
            .flatMap(name -> key.stream().filter(column -> column.field().name().equals(name)))
            .toList();
    Helper version = null;
    String ordering = schema.spec().ordering();
    if (positions.containsKey(HelperColumn.VERSION)) {
      String name = Objects.requireNonNullElse(options.version(), HelperColumn.VERSION);
      version = helper(rows, positions, HelperColumn.VERSION, name);
    } else if (ordering != null && positions.containsKey(ordering)) {
      version = helper(rows, positions, ordering, ordering);
    }
    return new WriteLayout(
        List.copyOf(key),
        List.copyOf(values),
        partitionBy,
        positions.getOrDefault(KeyedSchema.BUCKET, -1),
        positions.getOrDefault(KeyedSchema.GROUP, -1),
        version,
        positions.getOrDefault(HelperColumn.COLUMNS_FROM, -1),
        options.isListedByStatement(),
        options.retracts(),
        schema.spec().versions() == Versions.COMMIT,
        positions.getOrDefault(HelperColumn.OP, -1),
        positions.getOrDefault(HelperColumn.ROW_ORDER, -1),
        positions.getOrDefault(HelperColumn.COMBINED, -1),
        positions.getOrDefault(HelperColumn.FAILED, -1),
        stored(schema, positions.keySet(), leaves, states, options));
  }

  /** The place of each column of the rows; the first of those that share a name. */
  private static Map<String, Integer> positions(StructType rows) {
    Map<String, Integer> positions = new HashMap<>();
    String[] names = rows.fieldNames();
    for (int i = 0; i < names.length; i++) {
      positions.putIfAbsent(names[i], i);
    }
    return positions;
  }

  private static List<NestedField> only(Types.StructType struct, Set<Integer> ids) {
    return struct.fields().stream().filter(field -> ids.contains(field.fieldId())).toList();
  }

  private static Map<Integer, Integer> placesById(List<NestedField> fields) {
    Map<Integer, Integer> places = new HashMap<>();
    fields.forEach(field -> places.put(field.fieldId(), places.size()));
    return places;
  }

  private static Column column(
      StructType rows,
      Map<String, Integer> positions,
      NestedField field,
      int leaf,
      int state,
      KeyedSchema schema,
      WriteOptions options) {
    String name = field.name();
    int position = positions.getOrDefault(name, -1);
    String versionOf = HelperColumn.VERSION_OF + name;
    return new Column(
        name,
        position,
        rows.fields()[position].dataType(),
        field,
        leaf,
        state,
        schema.spec().reducer(name),
        positions.containsKey(versionOf)
            ? helper(rows, positions, versionOf, options.versionOf().getOrDefault(name, versionOf))
            : null);
  }

  private static Helper helper(
      StructType rows, Map<String, Integer> positions, String travelsAs, String name) {
    int position = positions.getOrDefault(travelsAs, -1);
    return new Helper(name, position, rows.fields()[position].dataType());
  }

  /** The key of a row, for sentences. */
  String keyOf(InternalRow row) {
    List<String> parts = new ArrayList<>();
    for (Column column : key) {
      parts.add(column.name() + "=" + KeyText.of(row, column.position(), column.type()));
    }
    return String.join(", ", parts);
  }

  private static Schema stored(
      KeyedSchema schema,
      Set<String> names,
      List<NestedField> leaves,
      List<NestedField> states,
      WriteOptions options) {
    List<NestedField> fields = new ArrayList<>();
    for (NestedField field : schema.table().columns()) {
      if (field.equals(schema.mergeInfo())) {
        fields.add(with(versions(schema, leaves, states, options), field));
      } else if (names.contains(field.name()) || KeyedSchema.isHidden(field.name())) {
        fields.add(field);
      }
    }
    return new Schema(fields, schema.table().identifierFieldIds());
  }

  /** The struct of versions without members that are null in all rows. */
  private static List<NestedField> versions(
      KeyedSchema schema,
      List<NestedField> leaves,
      List<NestedField> states,
      WriteOptions options) {
    boolean writes = options.verb() != WriteOptions.Verb.DELETE;
    boolean deletes = !writes || options.op() != null;
    List<NestedField> members = new ArrayList<>();
    for (NestedField member : schema.mergeInfo().type().asStructType().fields()) {
      if (member.name().equals(KeyedSchema.COLUMNS)) {
        members.add(with(leaves, member));
      } else if (member.name().equals(KeyedSchema.STATES)) {
        if (!states.isEmpty()) {
          members.add(with(states, member));
        }
      } else if (member.equals(schema.version())
          || (writes && member.equals(schema.written()))
          || (deletes && member.equals(schema.deleted()))) {
        members.add(member);
      }
    }
    return members;
  }

  private static NestedField with(List<NestedField> members, NestedField struct) {
    return NestedField.from(struct).ofType(Types.StructType.of(members)).build();
  }

  /**
   * The value column of the stored rows that is the ordering column, or -1: an index into {@code
   * values}.
   */
  int ordering(KeyedSchema schema) {
    for (int i = 0; i < values.size(); i++) {
      if (values.get(i).field().name().equals(schema.spec().ordering())) {
        return i;
      }
    }
    return -1;
  }

  /** A row says all that older rows of its key say, but for tombstones of changes. */
  boolean areAlike() {
    return op < 0
        && columnsFrom < 0
        && !retracts
        && values.stream().noneMatch(column -> column.reducer().skipsNulls());
  }

  static boolean isInt(DataType type) {
    return type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType);
  }
}
