package io.keylake.tables;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.shaded.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.SerializationFeature;

/**
 * The rules of a keyed table: the contract between Python, which writes it, and the server, which
 * obeys it. It lies in the table property {@value #PROPERTY} as JSON; names, types and comments of
 * columns lie in the Iceberg schema.
 *
 * @param versions where versions come from
 * @param ordering the ordering column, or null
 * @param buckets how many buckets
 * @param bucketBy the part of the key that decides the bucket
 * @param partitionBy further key columns by whose values the table is partitioned before it is
 *     bucketed
 * @param reducers the value columns that are not reduced by {@link Reducer#LATEST}
 * @param columnGroups value columns that are always written together and share one version
 */
public record TableSpec(
    List<String> key,
    Versions versions,
    String ordering,
    int buckets,
    List<String> bucketBy,
    List<String> partitionBy,
    Map<String, Reducer> reducers,
    Map<String, ColumnGroup> columnGroups)
    implements Serializable {
  public static final String PROPERTY = "keylake.spec";
  public static final int SPEC_VERSION = 1;
  private static final ObjectMapper JSON =
      new ObjectMapper().configure(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS, true);
  private static final Set<String> RULES =
      Set.of(
          "spec_version",
          "key",
          "versions",
          "ordering",
          "buckets",
          "bucket_by",
          "partition_by",
          "reducers",
          "column_groups");

  /** Where the version of a row comes from. A table never mixes sources. */
  public enum Versions {
    ORDERING,
    COMMIT,
    EXPLICIT
  }

  /** How the values of a column become one. */
  public enum Reducer {
    /** The newest write wins. */
    LATEST("Latest"),
    /** The newest write that is not null wins. */
    LATEST_NOT_NULL("LatestNotNull");

    private final String type;

    Reducer(String type) {
      this.type = type;
    }

    static Reducer of(String column, String type) {
      for (Reducer reducer : values()) {
        if (reducer.type.equals(type)) {
          return reducer;
        }
      }
      throw new KeylakeException(
          DEFINITION,
          "column '%s' has the reducer '%s', which this server does not know; it knows Latest and LatestNotNull"
              .formatted(column, type));
    }
  }

  /** Value columns that share one version. */
  public record ColumnGroup(List<String> columns, String doc) implements Serializable {
    public ColumnGroup {
      columns = List.copyOf(columns);
    }
  }

  public TableSpec {
    key = List.copyOf(key);
    bucketBy = List.copyOf(bucketBy);
    partitionBy = List.copyOf(partitionBy);
    reducers = Map.copyOf(reducers);
    columnGroups = Map.copyOf(columnGroups);
    checkBucketing(key, buckets, bucketBy, partitionBy);
    checkVersions(key, versions, ordering);
    checkGroups(columnGroups, reducers);
  }

  public Reducer reducer(String column) {
    return reducers.getOrDefault(column, Reducer.LATEST);
  }

  /** The version leaf of a value column: its group's, or its own. */
  public String leafOf(String column) {
    for (Map.Entry<String, ColumnGroup> group : columnGroups.entrySet()) {
      if (group.getValue().columns().contains(column)) {
        return group.getKey();
      }
    }
    return column;
  }

  /** Reads the property form; what it does not know, it refuses. */
  public static TableSpec fromJson(String json) {
    return fromNode(parse(json), Set.of());
  }

  static JsonNode parse(String json) {
    try {
      return JSON.readTree(json);
    } catch (JsonProcessingException e) {
      throw new KeylakeException(
          DEFINITION,
          "the table spec is not JSON (%s): %s".formatted(e.getOriginalMessage(), shorten(json)));
    }
  }

  /** Reads a spec from an object that may also have the members named in {@code beside}. */
  static TableSpec fromNode(JsonNode node, Set<String> beside) {
    if (!node.isObject()) {
      throw new KeylakeException(
          DEFINITION, "a table spec is a JSON object, not " + shorten(node.toString()));
    }
    int version = node.path("spec_version").asInt(0);
    if (version != SPEC_VERSION) {
      throw new KeylakeException(
          DEFINITION,
          "the table has spec version %s and this server reads version %d; %s"
              .formatted(
                  node.path("spec_version"),
                  SPEC_VERSION,
                  version > SPEC_VERSION ? "use a newer server" : "write a spec_version"));
    }
    Set<String> known = new HashSet<>(RULES);
    known.addAll(beside);
    refuseUnknown(node, known, "the table spec");
    JsonNode ordering = node.path("ordering");
    return new TableSpec(
        strings(node, "key"),
        versions(node.path("versions").asText("")),
        ordering.isTextual() ? ordering.asText() : null,
        node.path("buckets").isIntegralNumber() ? node.path("buckets").asInt() : 0,
        strings(node, "bucket_by"),
        node.has("partition_by") ? strings(node, "partition_by") : List.of(),
        reducers(node.path("reducers")),
        columnGroups(node.path("column_groups")));
  }

  /** The property form: sorted members, no white space. */
  public String toJson() {
    return write(toMap());
  }

  static String write(Object members) {
    try {
      return JSON.writeValueAsString(members);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a table spec cannot be written as JSON", e);
    }
  }

  Map<String, Object> toMap() {
    Map<String, Object> members = new TreeMap<>();
    members.put("spec_version", SPEC_VERSION);
    members.put("key", key);
    members.put("versions", versions.name().toLowerCase(Locale.ROOT));
    members.put("ordering", ordering);
    members.put("buckets", buckets);
    members.put("bucket_by", bucketBy);
    members.put("partition_by", partitionBy);
    Map<String, Object> reducerTypes = new TreeMap<>();
    reducers.forEach((column, reducer) -> reducerTypes.put(column, Map.of("type", reducer.type)));
    members.put("reducers", reducerTypes);
    Map<String, Object> groups = new TreeMap<>();
    columnGroups.forEach(
        (name, group) ->
            groups.put(
                name, new TreeMap<>(Map.of("columns", group.columns(), "doc", group.doc()))));
    members.put("column_groups", groups);
    return members;
  }

  private static Versions versions(String text) {
    for (Versions source : Versions.values()) {
      if (source.name().toLowerCase(Locale.ROOT).equals(text)) {
        return source;
      }
    }
    throw new KeylakeException(
        DEFINITION, "versions is '%s'; it is one of ordering, commit, explicit".formatted(text));
  }

  private static Map<String, Reducer> reducers(JsonNode node) {
    Map<String, Reducer> reducers = new HashMap<>();
    for (Iterator<String> names = node.fieldNames(); names.hasNext(); ) {
      String column = names.next();
      refuseUnknown(node.get(column), Set.of("type"), "the reducer of column '" + column + "'");
      Reducer reducer = Reducer.of(column, node.get(column).path("type").asText(""));
      if (reducer != Reducer.LATEST) {
        reducers.put(column, reducer);
      }
    }
    return reducers;
  }

  private static Map<String, ColumnGroup> columnGroups(JsonNode node) {
    Map<String, ColumnGroup> groups = new LinkedHashMap<>();
    for (Iterator<String> names = node.fieldNames(); names.hasNext(); ) {
      String name = names.next();
      refuseUnknown(node.get(name), Set.of("columns", "doc"), "the column group '" + name + "'");
      groups.put(
          name,
          new ColumnGroup(
              strings(node.get(name), "columns"), node.get(name).path("doc").asText("")));
    }
    return groups;
  }

  private static void refuseUnknown(JsonNode node, Set<String> known, String what) {
    for (Iterator<String> names = node.fieldNames(); names.hasNext(); ) {
      String name = names.next();
      if (!known.contains(name)) {
        throw new KeylakeException(
            DEFINITION,
            "%s has the option '%s', which this server does not know; use a newer server or drop the option"
                .formatted(what, name));
      }
    }
  }

  private static List<String> strings(JsonNode node, String name) {
    List<String> strings = new ArrayList<>();
    if (!node.path(name).isArray()) {
      throw new KeylakeException(DEFINITION, "the table spec has no list '%s'".formatted(name));
    }
    node.path(name).forEach(element -> strings.add(element.asText()));
    return strings;
  }

  private static void checkBucketing(
      List<String> key, int buckets, List<String> bucketBy, List<String> partitionBy) {
    if (key.isEmpty()) {
      throw new KeylakeException(DEFINITION, "the key is empty; name at least one key column");
    }
    if (buckets < 1) {
      throw new KeylakeException(
          DEFINITION, "buckets is %d; it must be at least 1".formatted(buckets));
    }
    if (bucketBy.isEmpty() || !key.containsAll(bucketBy) || !key.containsAll(partitionBy)) {
      throw new KeylakeException(
          DEFINITION,
          "bucket_by %s and partition_by %s must name columns of the key %s, and bucket_by at least one"
              .formatted(bucketBy, partitionBy, key));
    }
  }

  private static void checkVersions(List<String> key, Versions versions, String ordering) {
    if ((versions == Versions.ORDERING) != (ordering != null)) {
      throw new KeylakeException(
          DEFINITION,
          "versions is '%s' and the ordering column is %s; an ordering column goes with versions 'ordering' only"
              .formatted(versions.name().toLowerCase(Locale.ROOT), ordering));
    }
    if (ordering != null && key.contains(ordering)) {
      throw new KeylakeException(
          DEFINITION, "the ordering column '%s' is a key column".formatted(ordering));
    }
  }

  private static void checkGroups(Map<String, ColumnGroup> groups, Map<String, Reducer> reducers) {
    Set<String> seen = new HashSet<>();
    groups.forEach(
        (name, group) -> {
          if (group.columns().isEmpty()) {
            throw new KeylakeException(
                DEFINITION, "the column group '%s' has no column".formatted(name));
          }
          for (String column : group.columns()) {
            if (!seen.add(column)) {
              throw new KeylakeException(
                  DEFINITION, "column '%s' is in two column groups".formatted(column));
            }
            if (group.columns().size() > 1 && reducers.get(column) == Reducer.LATEST_NOT_NULL) {
              throw new KeylakeException(
                  DEFINITION,
                  "column '%s' of group '%s' is reduced by LatestNotNull and cannot share a version"
                      .formatted(column, name));
            }
          }
        });
  }

  private static String shorten(String text) {
    return text.length() <= 200 ? text : text.substring(0, 200) + "...";
  }
}
