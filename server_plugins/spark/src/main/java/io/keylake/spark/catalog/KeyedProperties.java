package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.extension.Guests;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.indexes.ValueIndexes;
import io.keylake.tables.isolation.Isolation;
import io.keylake.tables.isolation.Retries;
import io.keylake.tables.lateness.Lateness;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import io.keylake.tables.spec.SpecProperties;
import io.keylake.tables.spec.TableSpec;
import io.keylake.tables.storage.WriteProperties;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateProperties;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;

/**
 * The properties of tables whose names begin with {@value #PREFIX}, as statements in SQL set them.
 * A misspelt one would silently make a plain table, or do nothing.
 */
public final class KeyedProperties {
  private static final String PREFIX = "keylake.";
  private static final List<String> POLICIES =
      List.of(CompactionPolicy.PROPERTY, RetentionPolicy.PROPERTY, Lateness.PROPERTY);

  /** The names by which statements change something else than a property. */
  private static final Set<String> OF_ICEBERG =
      Set.of(
          "location",
          "provider",
          "current-snapshot-id",
          "cherry-pick-snapshot-id",
          "sort-order",
          "identifier-fields");

  private KeyedProperties() {}

  /**
   * Sets and removes properties of a keyed table in one change, whose outcome is certain.
   *
   * @return false where some change is of something else, and nothing was done
   */
  public static boolean make(Table table, TableChange... changes) {
    if (!Arrays.stream(changes).allMatch(KeyedProperties::isOfProperty)) {
      return false;
    }
    UpdateProperties update = CertainOperations.of(table).updateProperties();
    for (TableChange change : changes) {
      if (change instanceof TableChange.SetProperty set) {
        update.set(set.property(), set.value());
      } else {
        update.remove(property(change));
      }
    }
    update.commit();
    return true;
  }

  private static boolean isOfProperty(TableChange change) {
    String name = property(change);
    return !name.isEmpty() && !OF_ICEBERG.contains(name.toLowerCase(Locale.ROOT));
  }

  /** A property is keylake's own, and not one that statements set. */
  public static boolean isInternal(String name) {
    return name.startsWith(PREFIX) && !POLICIES.contains(name);
  }

  /** Refuses what a statement that creates a table cannot say. */
  public static void checkCreated(Map<String, String> properties, boolean isDefinedInSql) {
    boolean isKeyed = isDefinedInSql || properties.containsKey(TableSpec.PROPERTY);
    if (isKeyed) {
      properties.forEach(Isolation::check);
      properties.forEach(Retries::check);
      properties.forEach(WriteProperties::check);
      properties.keySet().forEach(KeyedProperties::checkSpelling);
    }
    properties.forEach(
        (name, value) -> {
          if (name.startsWith(PREFIX) && !name.equals(TableSpec.PROPERTY)) {
            checkPolicy(name, value);
            if (isOfPlainTables(name) == isKeyed) {
              throw new KeylakeException(
                  DEFINITION,
                  isKeyed
                      ? "property '%s' is for plain Iceberg tables; leave it out: a keyed table has no equality deletes"
                          .formatted(name)
                      : "property '%s' is for keyed tables; write USING keylake with a PRIMARY KEY"
                          .formatted(name));
            }
          }
        });
  }

  private static void checkSpelling(String name) {
    String lower = name.toLowerCase(Locale.ROOT);
    boolean isWord = SpecProperties.isWord(lower) && !SpecProperties.isWord(name);
    if (isWord || (lower.startsWith(PREFIX) && !name.startsWith(PREFIX))) {
      throw new KeylakeException(
          DEFINITION, "property '%s' is written in lower case: '%s'".formatted(name, lower));
    }
    SpecProperties.checkSpelling(name);
  }

  /** Refuses what a statement that changes a table cannot say. */
  public static void checkChanged(Identifier ident, boolean isKeyed, TableChange change) {
    boolean sets = change instanceof TableChange.SetProperty;
    String name = property(change);
    if (isKeyed && change instanceof TableChange.SetProperty set) {
      Isolation.check(name, set.value());
      Retries.check(name, set.value());
      WriteProperties.check(name, set.value());
      checkSpelling(name);
      if (name.equals(TableCatalog.PROP_COLLATION)) {
        Collations.checkDefault(set.value());
      }
    }
    if (isKeyed && SpecProperties.isWord(name) && !(sets && SpecProperties.isReducer(name))) {
      throw new KeylakeException(
          UNSUPPORTED,
          "'%s' is a part of the definition of %s, which stays as it is; create a new table and copy the rows"
              .formatted(name, ident));
    }
    if (!name.startsWith(PREFIX)) {
      return;
    }
    if (name.equals(TableSpec.PROPERTY)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "'%s' is set when a table is created and not changed by hand; %s"
              .formatted(
                  TableSpec.PROPERTY,
                  isKeyed
                      ? "create a new table and copy the rows"
                      : "create a keyed table and copy the rows of %s into it".formatted(ident)));
    }
    if (isKeyed && sets && isOfPlainTables(name)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "property '%s' is for plain Iceberg tables, and %s is a keyed one, which has no equality deletes; set '%s'"
              .formatted(name, ident, CompactionPolicy.PROPERTY));
    }
    if (!isKeyed && sets && !isOfPlainTables(name)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "property '%s' is for keyed tables, and %s is a plain table; create a keyed table and copy its rows"
              .formatted(name, ident));
    }
    if (sets) {
      checkPolicy(name, ((TableChange.SetProperty) change).value());
    } else if (isKeyed && !POLICIES.contains(name)) {
      throw unknown(name);
    }
  }

  /** Refuses indices of values, or a lateness, that a keyed table cannot have. */
  public static void checkIndexesAndLateness(Table table, TableChange... changes) {
    boolean isOfLateness =
        Arrays.stream(changes).map(KeyedProperties::property).anyMatch(Lateness.PROPERTY::equals);
    if (areOfIndexes(changes) || isOfLateness) {
      Map<String, String> properties = new HashMap<>(table.properties());
      for (TableChange change : changes) {
        if (change instanceof TableChange.SetProperty set) {
          properties.put(set.property(), set.value());
        } else if (change instanceof TableChange.RemoveProperty removed) {
          properties.remove(removed.property());
        }
      }
      KeyedSchema schema = KeyedSchema.of(table);
      ValueIndexes.check(properties, schema.spec(), schema.visible());
      Lateness.check(properties, schema.spec(), schema.visible());
    }
  }

  /** Notes since when a table has the indices that a statement has added. */
  public static void noteIndexes(Table table, TableChange... changes) {
    if (areOfIndexes(changes)) {
      Set<String> added =
          Arrays.stream(changes)
              .filter(TableChange.SetProperty.class::isInstance)
              .map(KeyedProperties::property)
              .filter(name -> name.startsWith(ValueIndexes.PREFIX))
              .map(name -> name.substring(ValueIndexes.PREFIX.length()))
              .collect(Collectors.toSet());
      ValueIndexes.note(table, added);
    }
  }

  private static boolean areOfIndexes(TableChange... changes) {
    return Arrays.stream(changes)
        .map(KeyedProperties::property)
        .anyMatch(name -> name.startsWith(ValueIndexes.PREFIX));
  }

  /** The property that a change sets or removes; "" for other changes. */
  private static String property(TableChange change) {
    return change instanceof TableChange.SetProperty set
        ? set.property()
        : change instanceof TableChange.RemoveProperty remove ? remove.property() : "";
  }

  /** The reducers that a statement sets, by column; empty for other statements. */
  public static Map<String, Reducer> reducers(
      Identifier ident, Schema columns, TableChange... changes) {
    Map<String, String> set = new HashMap<>();
    for (TableChange change : changes) {
      if (change instanceof TableChange.SetProperty property
          && SpecProperties.isReducer(property.property())) {
        set.put(property.property(), property.value());
      }
    }
    if (!set.isEmpty() && set.size() < changes.length) {
      throw new KeylakeException(
          UNSUPPORTED,
          "reducers and other properties of %s are changed one after the other, in two statements"
              .formatted(ident));
    }
    return SpecProperties.reducers(set, name -> SqlDefinition.written(columns, name));
  }

  private static boolean isOfPlainTables(String name) {
    return Guests.loaded().hasProperty(name);
  }

  private static void checkPolicy(String name, String value) {
    switch (name) {
      case CompactionPolicy.PROPERTY -> CompactionPolicy.fromJson(value);
      case RetentionPolicy.PROPERTY -> RetentionPolicy.fromJson(value);
      case Lateness.PROPERTY -> Lateness.parse(value);
      default -> {
        if (!isOfPlainTables(name)) {
          throw unknown(name);
        }
        Guests.loaded().checkProperty(name, value);
      }
    }
  }

  private static KeylakeException unknown(String name) {
    return new KeylakeException(
        DEFINITION,
        "property '%s' is not one that statements set; they set '%s' (the definition of a keyed table, when it is created), '%s', '%s' and '%s'"
            .formatted(
                name,
                TableSpec.PROPERTY,
                CompactionPolicy.PROPERTY,
                RetentionPolicy.PROPERTY,
                Lateness.PROPERTY));
  }
}
