package io.keylake.spark.write.request;

import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;
import static io.keylake.tables.KeylakeException.Kind.VERSION_MISSING;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import io.keylake.tables.spec.TableSpec.Versions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Holds the columns of a frame against the table and the options, before anything runs: which
 * column of the frame is which column of the table, and which one is a version, an operation or a
 * list of columns.
 *
 * @param columns table columns that the frame carries, by the position in the frame
 * @param helpers frame columns that options name and that are not stored, by name as the frame has
 *     it
 */
public record WriteShape(Map<Integer, NestedField> columns, Map<String, Integer> helpers) {

  public static WriteShape of(
      List<String> frame, KeyedSchema schema, WriteOptions options, boolean caseSensitive) {
    Map<String, Integer> positions = positions(frame, caseSensitive);
    Map<String, NestedField> fields = new HashMap<>();
    schema.key().forEach(field -> fields.put(fold(field.name(), caseSensitive), field));
    schema.values().forEach(field -> fields.put(fold(field.name(), caseSensitive), field));
    Map<Integer, NestedField> columns = new LinkedHashMap<>();
    checkOwnName("columns_from", options.columnsFrom(), fields, caseSensitive);
    checkOwnName("op", options.op(), fields, caseSensitive);
    Map<String, Integer> helpers = helpers(positions, options, caseSensitive);
    positions.forEach(
        (name, position) -> {
          NestedField field = fields.get(name);
          if (field != null) {
            columns.put(position, field);
          } else if (!helpers.containsValue(position)) {
            throw new KeylakeException(
                SCHEMA_MISMATCH,
                "the frame has a column '%s' that table columns %s do not have; drop it, or add it to the table"
                    .formatted(frame.get(position), names(schema)));
          }
        });
    WriteShape shape = new WriteShape(columns, helpers);
    shape.checkKey(schema);
    shape.checkValues(schema, options);
    shape.checkVersions(schema, options);
    return shape;
  }

  /** The position in the frame of a column that an option names. */
  public int positionOf(String helper) {
    return Objects.requireNonNull(helpers.get(helper), "options name columns of the frame");
  }

  private static Map<String, Integer> positions(List<String> frame, boolean caseSensitive) {
    Map<String, Integer> positions = new LinkedHashMap<>();
    for (int i = 0; i < frame.size(); i++) {
      Integer other = positions.put(fold(frame.get(i), caseSensitive), i);
      if (other != null) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "the frame has the column '%s' twice (as '%s' and '%s'); rename or drop one"
                .formatted(frame.get(i), frame.get(other), frame.get(i)));
      }
    }
    return positions;
  }

  private static Map<String, Integer> helpers(
      Map<String, Integer> positions, WriteOptions options, boolean caseSensitive) {
    Map<String, String> named = new LinkedHashMap<>();
    putIfGiven(named, "version", options.version());
    putIfGiven(named, "columns_from", options.columnsFrom());
    putIfGiven(named, "op", options.op());
    putIfGiven(named, "row_order", options.rowOrder());
    options.versionOf().forEach((column, source) -> named.put("version_of." + column, source));
    Map<String, Integer> helpers = new LinkedHashMap<>();
    named.forEach(
        (option, column) -> {
          Integer position = positions.get(fold(column, caseSensitive));
          if (position == null) {
            throw new KeylakeException(
                SCHEMA_MISMATCH,
                "option %s names column '%s', which the frame does not have; its columns are %s"
                    .formatted(option, column, positions.keySet()));
          }
          helpers.put(column, position);
        });
    return helpers;
  }

  private static void checkOwnName(
      String option,
      @Nullable String column,
      Map<String, NestedField> fields,
      boolean caseSensitive) {
    if (column != null && fields.containsKey(fold(column, caseSensitive))) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "option %s names '%s', which is a column of the table itself; give that column of the frame another name"
              .formatted(option, column));
    }
  }

  private static void putIfGiven(
      Map<String, String> named, String option, @Nullable String column) {
    if (column != null) {
      named.put(option, column);
    }
  }

  private static String fold(String name, boolean caseSensitive) {
    return caseSensitive ? name : name.toLowerCase(Locale.ROOT);
  }

  private static List<String> names(KeyedSchema schema) {
    List<String> names = new ArrayList<>(schema.spec().key());
    schema.values().forEach(field -> names.add(field.name()));
    return names;
  }

  Set<String> names() {
    Set<String> names = new LinkedHashSet<>();
    columns.values().forEach(field -> names.add(field.name()));
    return names;
  }

  private void checkKey(KeyedSchema schema) {
    Set<String> present = names();
    for (String name : schema.spec().key()) {
      if (!present.contains(name)) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "the frame lacks the key column '%s'; every row needs the whole key %s"
                .formatted(name, schema.spec().key()));
      }
    }
  }

  private void checkValues(KeyedSchema schema, WriteOptions options) {
    Set<String> present = names();
    List<String> missing =
        schema.values().stream()
            .map(NestedField::name)
            .filter(name -> !present.contains(name))
            .toList();
    switch (options.verb()) {
      case UPSERT, OVERWRITE -> {
        if (!missing.isEmpty()) {
          throw new KeylakeException(
              SCHEMA_MISMATCH,
              "%s writes every column and the frame lacks %s; to write only the columns it carries, use update"
                  .formatted(options.verb().word(), missing));
        }
      }
      case DELETE -> {
        for (NestedField field : columns.values()) {
          boolean needed =
              schema.spec().key().contains(field.name())
                  || field.name().equals(schema.spec().ordering());
          if (!needed && !helpers.containsKey(field.name())) {
            throw new KeylakeException(
                SCHEMA_MISMATCH,
                "delete takes the key %s and the version only, and the frame also has '%s'; drop it"
                    .formatted(schema.spec().key(), field.name()));
          }
        }
      }
      case UPDATE, APPLY_CHANGES -> {
        if (!options.retracts()) {
          checkGroups(schema, present);
        }
      }
    }
    if (options.retracts()) {
      checkRetracted(schema, options);
    }
    if ((options.verb() == WriteOptions.Verb.APPLY_CHANGES) != (options.op() != null)) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "apply_changes, and only it, names the column 'op' that says what a row does");
    }
  }

  /**
   * Refuses a write that takes contributions back if it is no update, or carries a column that
   * gives none back.
   */
  private void checkRetracted(KeyedSchema schema, WriteOptions options) {
    if (options.verb() != WriteOptions.Verb.UPDATE) {
      throw new KeylakeException(
          UNSUPPORTED,
          "retract goes with update, which carries the contributions to take back, and not with %s"
              .formatted(options.verb().word()));
    }
    for (NestedField field : columns.values()) {
      boolean isVersion =
          helpers.containsKey(field.name()) || field.name().equals(schema.spec().ordering());
      Reducer reducer = schema.spec().reducer(field.name());
      if (!isVersion && !schema.spec().key().contains(field.name()) && !reducer.hasInverse()) {
        throw new KeylakeException(
            UNSUPPORTED,
            "the write takes contributions back and carries column '%s', which is reduced by %s and gives none back; carry only columns reduced by Sum, Count, ArraySum, Average, Moments, Daily of Sum, or a Struct of such"
                .formatted(field.name(), reducer.type()));
      }
    }
  }

  private static void checkGroups(KeyedSchema schema, Set<String> present) {
    schema
        .spec()
        .columnGroups()
        .forEach(
            (name, group) -> {
              Set<String> carried = new LinkedHashSet<>(group.columns());
              carried.retainAll(present);
              if (!carried.isEmpty() && carried.size() < group.columns().size()) {
                Set<String> lacking = new LinkedHashSet<>(group.columns());
                lacking.removeAll(carried);
                throw new KeylakeException(
                    SCHEMA_MISMATCH,
                    "the frame carries %s of the column group '%s' and lacks %s; a group is written whole"
                        .formatted(carried, name, lacking));
              }
            });
  }

  private void checkVersions(KeyedSchema schema, WriteOptions options) {
    boolean given =
        options.version() != null
            || options.versionValue() != null
            || !options.versionOf().isEmpty();
    boolean hasOrdering = schema.ordering() != null && names().contains(schema.spec().ordering());
    Versions versions = schema.spec().versions();
    if (options.version() != null && options.versionValue() != null) {
      throw new KeylakeException(
          VERSION_MISSING, "the version is given twice, as a column and as a number; give one");
    }
    if (versions == Versions.COMMIT && given) {
      throw new KeylakeException(
          VERSION_MISSING,
          "versions of this table are commit times, so version= is refused; declare versions=\"explicit\" to give them");
    }
    boolean isGivenTwice = options.version() != null || options.versionValue() != null;
    if (hasOrdering && isGivenTwice && !options.isVersionedByStatement()) {
      throw new KeylakeException(
          VERSION_MISSING,
          "the frame carries the ordering column '%s', which is the version; give version= only without it"
              .formatted(schema.spec().ordering()));
    }
    if (versions != Versions.COMMIT && !given && !hasOrdering) {
      throw new KeylakeException(
          VERSION_MISSING,
          versions == Versions.ORDERING
              ? "the frame lacks the ordering column '%s' and gives no version; add the column or give version="
                  .formatted(schema.spec().ordering())
              : "versions of this table are explicit and the write gives none; give version=, in SQL WITH"
                  + " ('version_value' = '7') behind the name of the table");
    }
    if (options.verb() == WriteOptions.Verb.DELETE && !options.versionOf().isEmpty()) {
      throw new KeylakeException(
          VERSION_MISSING,
          "a deleted row has one version, and version= gives columns versions of their own; give one column or number");
    }
    checkVersionOf(schema, options, hasOrdering);
  }

  private void checkVersionOf(KeyedSchema schema, WriteOptions options, boolean hasOrdering) {
    Map<String, String> sourceOfLeaf = new HashMap<>();
    Set<String> valueNames = new HashSet<>();
    schema.values().forEach(field -> valueNames.add(field.name()));
    for (String column : options.versionOf().keySet()) {
      if (column.equals(schema.spec().ordering())) {
        throw new KeylakeException(
            VERSION_MISSING,
            "version= maps the ordering column '%s', which is its own version; take it out"
                .formatted(column));
      }
      if (!valueNames.contains(column) || !names().contains(column)) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "version= maps the column '%s', which is not a value column of the frame"
                .formatted(column));
      }
    }
    boolean hasRowVersion =
        hasOrdering || options.version() != null || options.versionValue() != null;
    for (NestedField field : columns.values()) {
      if (schema.spec().key().contains(field.name())) {
        continue;
      }
      String source = options.versionOf().get(field.name());
      if (source == null
          && !hasRowVersion
          && schema.spec().versions() != Versions.COMMIT
          && !isHelper(field)) {
        throw new KeylakeException(
            VERSION_MISSING,
            "version= gives column '%s' no version; map every column that is written"
                .formatted(field.name()));
      }
      String leaf = schema.spec().leafOf(field.name());
      String before = sourceOfLeaf.putIfAbsent(leaf, source == null ? "" : source);
      if (before != null && !before.equals(source == null ? "" : source)) {
        throw new KeylakeException(
            VERSION_MISSING,
            "the columns of group '%s' share one version, and version= gives them several"
                .formatted(leaf));
      }
    }
  }

  private boolean isHelper(NestedField field) {
    return helpers.containsKey(field.name());
  }
}
