package io.keylake.spark.write;

import io.keylake.spark.keys.KeyText;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import io.keylake.tables.spec.TableSpec.Versions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * Where things lie in the rows that reach the writer, and in those it stores.
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
 * @param stored the columns of the files: what the rows carry, the bucket and the group if they are
 *     stored, and the versions, as far as the rows can have them
 */
record WriteLayout(
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
  record Column(
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
  record Helper(String name, int position, DataType type) implements Serializable {}

  static WriteLayout of(StructType rows, KeyedSchema schema, WriteOptions options) {
    List<String> names = Arrays.asList(rows.fieldNames());
    List<Column> key = new ArrayList<>();
    schema.key().forEach(field -> key.add(column(rows, names, field, -1, -1, schema, options)));
    List<Column> values = new ArrayList<>();
    List<NestedField> carried =
        schema.values().stream().filter(field -> names.contains(field.name())).toList();
    List<NestedField> leaves =
        schema.leaves().fields().stream()
            .filter(leaf -> carried.stream().anyMatch(field -> schema.leafOf(field).equals(leaf)))
            .toList();
    List<NestedField> states =
        schema.states().fields().stream()
            .filter(
                state -> carried.stream().anyMatch(field -> state.equals(schema.stateOf(field))))
            .toList();
    for (NestedField field : carried) {
      int leaf = leaves.indexOf(schema.leafOf(field));
      int state = states.indexOf(schema.stateOf(field));
      values.add(column(rows, names, field, leaf, state, schema, options));
    }
    List<Column> partitionBy =
        key.stream()
            .filter(column -> schema.spec().partitionBy().contains(column.field().name()))
            .toList();
    Helper version = null;
    String ordering = schema.spec().ordering();
    if (names.contains(HelperColumn.VERSION)) {
      String name = Objects.requireNonNullElse(options.version(), HelperColumn.VERSION);
      version = helper(rows, names, HelperColumn.VERSION, name);
    } else if (ordering != null && names.contains(ordering)) {
      version = helper(rows, names, ordering, ordering);
    }
    return new WriteLayout(
        List.copyOf(key),
        List.copyOf(values),
        partitionBy,
        names.indexOf(KeyedSchema.BUCKET),
        names.indexOf(KeyedSchema.GROUP),
        version,
        names.indexOf(HelperColumn.COLUMNS_FROM),
        options.isListedByStatement(),
        options.retracts(),
        schema.spec().versions() == Versions.COMMIT,
        names.indexOf(HelperColumn.OP),
        names.indexOf(HelperColumn.ROW_ORDER),
        names.indexOf(HelperColumn.COMBINED),
        stored(schema, names, leaves, states, options));
  }

  private static Column column(
      StructType rows,
      List<String> names,
      NestedField field,
      int leaf,
      int state,
      KeyedSchema schema,
      WriteOptions options) {
    String name = field.name();
    int position = names.indexOf(name);
    String versionOf = HelperColumn.VERSION_OF + name;
    return new Column(
        name,
        position,
        rows.fields()[position].dataType(),
        field,
        leaf,
        state,
        schema.spec().reducer(name),
        names.contains(versionOf)
            ? helper(rows, names, versionOf, options.versionOf().getOrDefault(name, versionOf))
            : null);
  }

  private static Helper helper(StructType rows, List<String> names, String travelsAs, String name) {
    int position = names.indexOf(travelsAs);
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
      List<String> names,
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

  static boolean isInt(DataType type) {
    return type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType);
  }
}
