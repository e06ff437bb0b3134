package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.Spelling;
import io.keylake.tables.spec.TableSpec.ColumnGroup;
import io.keylake.tables.spec.TableSpec.Versions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The words of a spec as a CREATE TABLE statement carries them. The key, the buckets and the
 * partitions have clauses of SQL; the rest are properties, and so is the key where the columns come
 * from a query:
 *
 * <pre>
 * 'ordering' = 'event_time'           'versions' = 'commit'
 * 'reduce.clicks' = 'LatestNotNull'   'column_group.home' = 'city, street'
 * 'groups' = '8192'                   'hash' = 'xxhash64'
 * </pre>
 */
public final class SpecProperties {
  private static final int DEFAULT_BUCKETS = 16;
  private static final String KEY = "key";
  private static final String ORDERING = "ordering";
  private static final String VERSIONS = "versions";
  private static final String REDUCE = "reduce.";
  private static final String COLUMN_GROUP = "column_group.";
  private static final String DOC = "column_group_doc.";
  private static final String GROUPS = "groups";
  private static final String HASH = "hash";
  private static final List<String> WORDS = List.of(KEY, ORDERING, VERSIONS, GROUPS, HASH);
  private static final List<String> PREFIXES = List.of(REDUCE, DOC, COLUMN_GROUP);
  private static final Pattern NAME = Pattern.compile("\\s*(?:`((?:[^`]|``)+)`|([^`,]*))\\s*(,|$)");

  private SpecProperties() {}

  /**
   * The clauses of a statement.
   *
   * @param buckets how many, or null where the statement does not say
   * @param bucketBy empty where the statement does not say: the whole key
   */
  public record Clauses(
      List<String> key,
      @Nullable Integer buckets,
      List<String> bucketBy,
      List<String> partitionBy) {}

  public static boolean isWord(String property) {
    return switch (property) {
      case KEY, ORDERING, VERSIONS, GROUPS, HASH -> true;
      default ->
          property.startsWith(REDUCE)
              || property.startsWith(COLUMN_GROUP)
              || property.startsWith(DOC);
    };
  }

  /**
   * Refuses the name of a property that is nearly a word of a spec: it would be kept as a property
   * that nobody reads, and the table would be another than was meant.
   */
  public static void checkSpelling(String property) {
    if (isWord(property)) {
      return;
    }
    int dot = property.indexOf('.');
    String rest = property.substring(dot + 1);
    String first = property.substring(0, dot + 1);
    String meant =
        dot < 0
            ? Spelling.meant(property, WORDS)
            : PREFIXES.stream()
                .filter(word -> first.startsWith(word.substring(0, word.length() - 1)))
                .findFirst()
                .orElse(Spelling.meant(first, PREFIXES));
    if (meant != null) {
      throw new KeylakeException(
          DEFINITION,
          "property '%s' is no word of the definition of a keyed table. Did you mean '%s'? Give a property of your own another name"
              .formatted(property, dot < 0 ? meant : meant + rest));
    }
  }

  /** The key where no clause says it; empty where no property does. */
  public static List<String> key(Map<String, String> properties) {
    String key = properties.get(KEY);
    return key == null ? List.of() : names(KEY, key);
  }

  /**
   * The spec of a new table; properties that are not words of a spec are not looked at.
   *
   * @param columns the name of a column as the table writes it, for one that the statement does
   */
  public static TableSpec read(
      Clauses clauses, Map<String, String> properties, UnaryOperator<String> columns) {
    String ordering = properties.get(ORDERING);
    List<String> key = all(clauses.key(), columns);
    String versions = properties.get(VERSIONS);
    Versions source =
        versions != null
            ? SpecJson.versions(versions)
            : ordering == null ? Versions.COMMIT : Versions.ORDERING;
    return new TableSpec(
        key,
        source,
        ordering == null ? null : columns.apply(ordering),
        clauses.buckets() == null ? DEFAULT_BUCKETS : clauses.buckets(),
        clauses.bucketBy().isEmpty() ? key : all(clauses.bucketBy(), columns),
        all(clauses.partitionBy(), columns),
        reducers(properties, columns),
        columnGroups(properties, columns),
        keyGroups(properties));
  }

  private static List<String> all(List<String> names, UnaryOperator<String> columns) {
    return names.stream().map(columns).toList();
  }

  /** The properties of which {@link #read} makes the same spec again. */
  public static Map<String, String> write(TableSpec spec) {
    Map<String, String> properties = new TreeMap<>();
    if (spec.ordering() != null) {
      properties.put(ORDERING, spec.ordering());
    } else {
      properties.put(VERSIONS, SpecJson.nameOf(spec.versions()));
    }
    spec.reducers()
        .forEach((column, reducer) -> properties.put(REDUCE + column, ReducerForm.text(reducer)));
    spec.columnGroups()
        .forEach(
            (name, group) -> {
              properties.put(COLUMN_GROUP + name, columns(group.columns()));
              if (!group.doc().isEmpty()) {
                properties.put(DOC + name, group.doc());
              }
            });
    if (spec.groups() != null) {
      properties.put(GROUPS, String.valueOf(spec.groups().count()));
      properties.put(HASH, spec.groups().hash());
    }
    return properties;
  }

  /** Names of columns with commas between them. */
  public static String columns(List<String> names) {
    return names.stream().map(SpecProperties::quoted).collect(Collectors.joining(", "));
  }

  /** A property says how a column is reduced. */
  public static boolean isReducer(String property) {
    return property.startsWith(REDUCE);
  }

  /**
   * The reducers that properties state, by column.
   *
   * @param columns the name of a column as the table writes it, for one that a property does
   */
  public static Map<String, Reducer> reducers(
      Map<String, String> properties, UnaryOperator<String> columns) {
    Map<String, Reducer> reducers = new HashMap<>();
    withPrefix(REDUCE, properties)
        .forEach(
            (name, type) -> {
              String column = columns.apply(name);
              if (reducers.put(column, ReducerForm.parse(column, type)) != null) {
                throw new KeylakeException(
                    DEFINITION,
                    "column '%s' has two reducers, by names that differ in case only; keep one of the properties '%s<column>'"
                        .formatted(column, REDUCE));
              }
            });
    return reducers;
  }

  private static Map<String, ColumnGroup> columnGroups(
      Map<String, String> properties, UnaryOperator<String> columns) {
    Map<String, String> docs = withPrefix(DOC, properties);
    Map<String, ColumnGroup> groups = new HashMap<>();
    withPrefix(COLUMN_GROUP, properties)
        .forEach(
            (name, listed) ->
                groups.put(
                    name,
                    new ColumnGroup(
                        all(names(COLUMN_GROUP + name, listed), columns),
                        docs.getOrDefault(name, ""))));
    for (String name : docs.keySet()) {
      if (!groups.containsKey(name)) {
        throw new KeylakeException(
            DEFINITION,
            "property '%s%s' describes a column group that the statement does not have; add '%s%s' = 'column, column'"
                .formatted(DOC, name, COLUMN_GROUP, name));
      }
    }
    return groups;
  }

  private static @Nullable KeyGroups keyGroups(Map<String, String> properties) {
    String count = properties.get(GROUPS);
    String hash = properties.get(HASH);
    if (count == null && hash == null) {
      return null;
    }
    if (count == null || hash == null) {
      throw new KeylakeException(
          DEFINITION,
          "only one of the properties 'groups' and 'hash' is set; groups of keys need both, so set '%s', too"
              .formatted(count == null ? GROUPS : HASH));
    }
    try {
      return new KeyGroups(Integer.parseInt(count.strip()), hash);
    } catch (NumberFormatException e) {
      throw new KeylakeException(
          DEFINITION,
          "property 'groups' is '%s', which is not a whole number of 32 bits".formatted(count));
    }
  }

  private static Map<String, String> withPrefix(String prefix, Map<String, String> properties) {
    Map<String, String> found = new TreeMap<>();
    properties.forEach(
        (name, value) -> {
          if (name.startsWith(prefix)) {
            found.put(name.substring(prefix.length()), value);
          }
        });
    return found;
  }

  /** Names with commas between them; a name with a comma or a backtick has backticks around it. */
  private static List<String> names(String property, String text) {
    List<String> names = new ArrayList<>();
    Matcher matcher = NAME.matcher(text);
    int at = 0;
    do {
      if (!matcher.find(at) || matcher.start() != at) {
        throw notNames(property, text);
      }
      String quoted = matcher.group(1);
      String name = quoted == null ? matcher.group(2).strip() : quoted.replace("``", "`");
      if (name.isEmpty()) {
        throw notNames(property, text);
      }
      names.add(name);
      at = matcher.end();
    } while (matcher.group(3).equals(",") || at < text.length());
    return names;
  }

  private static KeylakeException notNames(String property, String text) {
    return new KeylakeException(
        DEFINITION,
        "property '%s' is '%s', which is not a list of columns; write 'column, column', a column with a comma in its name in backticks"
            .formatted(property, text));
  }

  private static String quoted(String name) {
    boolean isPlain =
        name.equals(name.strip()) && !name.contains("`") && !name.contains(",") && !name.isEmpty();
    return isPlain ? name : "`" + name.replace("`", "``") + "`";
  }
}
