package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;

/** Refuses a new table whose columns break a rule, whoever sent it. */
final class DefinitionRules {
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
  private static final Set<Type.TypeID> PRIMITIVE_TYPES =
      Set.of(
          Type.TypeID.BOOLEAN,
          Type.TypeID.INTEGER,
          Type.TypeID.LONG,
          Type.TypeID.FLOAT,
          Type.TypeID.DOUBLE,
          Type.TypeID.DATE,
          Type.TypeID.TIMESTAMP,
          Type.TypeID.STRING,
          Type.TypeID.UUID,
          Type.TypeID.FIXED,
          Type.TypeID.BINARY,
          Type.TypeID.DECIMAL);
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

  private DefinitionRules() {}

  static void check(TableSpec spec, Schema columns) {
    checkColumns(columns);
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
    spec.reducers().forEach((name, reducer) -> checkReducer(spec, columns, name, reducer));
    checkGroups(spec, columns);
    List<NestedField> bucketBy =
        spec.bucketBy().stream().map(name -> columns.asStruct().field(name)).toList();
    if (spec.groups() != null) {
      spec.groups().hasher(); // refuses a class that is not there
      checkHashed(spec.groups(), bucketBy);
    }
    String bucketField = spec.bucketBy().get(0) + "_bucket";
    if (!KeyedSchema.storesBucket(spec, bucketBy)
        && columns.caseInsensitiveFindField(bucketField) != null) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' has the name that Iceberg gives to the table's buckets; rename the column"
              .formatted(columns.caseInsensitiveFindField(bucketField).name()));
    }
  }

  private static void checkReducer(TableSpec spec, Schema columns, String name, Reducer reducer) {
    checkValueColumn(spec, columns, name, "reducers");
    Type type = columns.findType(name);
    String missing = ReducedType.missing(reducer, type);
    if (missing != null) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' has the reducer %s and is of type %s; the column must be %s"
              .formatted(name, ReducerForm.text(reducer), type, missing));
    }
  }

  private static void checkHashed(KeyGroups groups, List<NestedField> bucketBy) {
    for (NestedField field : bucketBy) {
      if (groups.hashesText() && field.type().typeId() == Type.TypeID.BINARY) {
        throw new KeylakeException(
            DEFINITION,
            "hash %s takes text, and column '%s' of bucket_by is binary; take another hash"
                .formatted(groups.hash(), field.name()));
      }
    }
  }

  private static void checkColumns(Schema columns) {
    Map<String, String> seen = new HashMap<>();
    for (NestedField field : columns.columns()) {
      checkName("column", field.name(), seen);
      checkNotReserved(field.name());
      checkType(field.name(), field.type());
    }
  }

  private static void checkNotReserved(String column) {
    String lower = column.toLowerCase(Locale.ROOT);
    if (RESERVED_NAMES.contains(lower) || RESERVED_PREFIXES.stream().anyMatch(lower::startsWith)) {
      throw new KeylakeException(
          DEFINITION,
          "column name '%s' is reserved: it is one of Iceberg's metadata columns or begins with one of %s; rename it"
              .formatted(column, RESERVED_PREFIXES));
    }
  }

  private static void checkType(String column, Type type) {
    if (type.typeId() == Type.TypeID.TIME) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' is of type time, which Spark cannot read from Iceberg; keep it as a long of microseconds"
              .formatted(column));
    }
    boolean isEmptyStruct = type.isStructType() && type.asStructType().fields().isEmpty();
    if (isEmptyStruct || !(type.isNestedType() || PRIMITIVE_TYPES.contains(type.typeId()))) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' has the type %s, which no file of Iceberg v2 can hold; use another type"
              .formatted(column, type));
    }
    if (type.isNestedType()) {
      Map<String, String> seen = new HashMap<>();
      for (NestedField field : type.asNestedType().fields()) {
        checkDistinct("column '" + column + "': field", field.name(), seen);
        checkType(column, field.type());
      }
    }
  }

  private static void checkGroups(TableSpec spec, Schema columns) {
    Map<String, String> seen = new HashMap<>();
    spec.columnGroups()
        .forEach(
            (group, members) -> {
              checkName("column group", group, seen);
              for (String name : members.columns()) {
                checkValueColumn(spec, columns, name, "group " + group);
              }
              NestedField column = columns.caseInsensitiveFindField(group);
              if (column != null && !members.columns().contains(column.name())) {
                throw new KeylakeException(
                    DEFINITION,
                    "the column group '%s' has the name of column '%s' outside it; rename the group"
                        .formatted(group, column.name()));
              }
              if (column != null && spec.reducer(column.name()).accumulates()) {
                throw new KeylakeException(
                    DEFINITION,
                    "the column group '%s' has the name of column '%s', which has the reducer %s and so versions of its own; rename the group"
                        .formatted(
                            group, column.name(), ReducerForm.text(spec.reducer(column.name()))));
              }
            });
  }

  /** A name that Spark can tell from the others, and that stands for one column only. */
  static void checkColumnName(String column) {
    checkName("column", column, new HashMap<>());
    checkNotReserved(column);
  }

  private static void checkName(String what, String name, Map<String, String> seen) {
    checkDistinct(what, name, seen);
    if (name.contains(".") || !name.codePoints().allMatch(DefinitionRules::isPrintable)) {
      throw new KeylakeException(
          DEFINITION,
          "%s '%s' has a dot or a sign that cannot be printed in its name; rename it"
              .formatted(what, name));
    }
  }

  private static void checkDistinct(String what, String name, Map<String, String> seen) {
    String other = seen.put(TableSpec.folded(name), name);
    if (name.isBlank()) {
      throw new KeylakeException(
          DEFINITION, "%s '%s' has an empty name; give it a name".formatted(what, name));
    }
    if (other != null) {
      throw new KeylakeException(
          DEFINITION,
          "%s '%s' differs only in case from '%s'; rename one".formatted(what, name, other));
    }
  }

  private static boolean isPrintable(int sign) {
    return switch (Character.getType(sign)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.SURROGATE,
          Character.PRIVATE_USE,
          Character.UNASSIGNED,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      case Character.SPACE_SEPARATOR -> sign == ' ';
      default -> true;
    };
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
