package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

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
 * @param grouping value columns that are always written together and share one version
 * @param groups the groups of a key-value store, which the buckets hold in order; or null
 */
@GuestApi
public record TableSpec(
    List<String> key,
    Versions versions,
    @Nullable String ordering,
    int buckets,
    List<String> bucketBy,
    List<String> partitionBy,
    Map<String, Reducer> reducers,
    ColumnGroups grouping,
    @Nullable KeyGroups groups)
    implements Serializable {
  public static final String PROPERTY = "keylake.spec";
  public static final int SPEC_VERSION = 1;
  public static final int MOST_BUCKETS = 1_000_000;

  /** The source of the version of a row. A table never mixes sources. */
  public enum Versions {
    ORDERING,
    COMMIT,
    EXPLICIT
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
    reducers = withoutDefault(reducers);
    checkBucketing(key, buckets, bucketBy, partitionBy);
    if (groups != null && groups.count() < buckets) {
      throw new KeylakeException(
          DEFINITION,
          "groups is %d and buckets is %d; a bucket holds at least one group, so take fewer buckets"
              .formatted(groups.count(), buckets));
    }
    checkVersions(key, versions, ordering);
    checkReducers(ordering, grouping.byName(), reducers);
  }

  /**
   * @param columnGroups by their names
   */
  public TableSpec(
      List<String> key,
      Versions versions,
      @Nullable String ordering,
      int buckets,
      List<String> bucketBy,
      List<String> partitionBy,
      Map<String, Reducer> reducers,
      Map<String, ColumnGroup> columnGroups,
      @Nullable KeyGroups groups) {
    this(
        key,
        versions,
        ordering,
        buckets,
        bucketBy,
        partitionBy,
        reducers,
        ColumnGroups.of(columnGroups),
        groups);
  }

  /** Value columns that are always written together and share one version, by the group's name. */
  public Map<String, ColumnGroup> columnGroups() {
    return grouping.byName();
  }

  /**
   * The name of a column as Spark compares it, letter by letter: some alphabets have several of one
   * case.
   */
  public static String folded(String name) {
    StringBuilder folded = new StringBuilder(name.length());
    for (int i = 0; i < name.length(); i++) {
      folded.append(Character.toLowerCase(Character.toUpperCase(name.charAt(i))));
    }
    return folded.toString();
  }

  private static Map<String, Reducer> withoutDefault(Map<String, Reducer> reducers) {
    Map<String, Reducer> others = new HashMap<>(reducers);
    others.values().removeIf(Reducer.LATEST::equals);
    return Map.copyOf(others);
  }

  public Reducer reducer(String column) {
    return reducers.getOrDefault(column, Reducer.LATEST);
  }

  public TableSpec withBuckets(int count) {
    return new TableSpec(
        key, versions, ordering, count, bucketBy, partitionBy, reducers, grouping, groups);
  }

  public TableSpec withReducers(Map<String, Reducer> others) {
    Map<String, Reducer> all = new HashMap<>(reducers);
    all.putAll(others);
    all.values().removeIf(Reducer.LATEST::equals);
    return new TableSpec(
        key, versions, ordering, buckets, bucketBy, partitionBy, all, grouping, groups);
  }

  /**
   * The same rules for columns of other names.
   *
   * @param names of the columns that are left, by those that they had
   */
  public TableSpec renamed(Map<String, String> names) {
    Map<String, Reducer> reducersLeft = new HashMap<>();
    reducers.forEach(
        (column, reducer) -> {
          if (names.containsKey(column)) {
            reducersLeft.put(names.get(column), reducer);
          }
        });
    Map<String, ColumnGroup> groupsLeft = new HashMap<>();
    columnGroups()
        .forEach(
            (name, group) -> {
              List<String> columns = renamed(group.columns(), names);
              if (!columns.isEmpty()) {
                groupsLeft.put(name, new ColumnGroup(columns, group.doc()));
              }
            });
    return new TableSpec(
        renamed(key, names),
        versions,
        ordering == null ? null : names.get(ordering),
        buckets,
        renamed(bucketBy, names),
        renamed(partitionBy, names),
        reducersLeft,
        groupsLeft,
        groups);
  }

  /**
   * The same rules for some of the columns. Without the ordering column, whoever writes gives the
   * versions.
   */
  TableSpec of(Set<String> columns) {
    Map<String, String> names = new HashMap<>();
    columns.forEach(name -> names.put(name, name));
    boolean isOrdered = ordering == null || columns.contains(ordering);
    TableSpec versioned =
        isOrdered
            ? this
            : new TableSpec(
                key,
                Versions.EXPLICIT,
                null,
                buckets,
                bucketBy,
                partitionBy,
                reducers,
                grouping,
                groups);
    return versioned.renamed(names);
  }

  private static List<String> renamed(List<String> columns, Map<String, String> names) {
    return columns.stream().filter(names::containsKey).map(names::get).toList();
  }

  /**
   * The version leaf of a value column: its group's, or its own. An accumulator has its own in a
   * group, too: a tombstone takes back contributions by another rule than values.
   */
  public String leafOf(String column) {
    return reducer(column).accumulates() ? column : grouping.nameOf(column);
  }

  /** Reads the property form; what it does not know, it refuses. */
  public static TableSpec fromJson(String json) {
    return SpecJson.read(SpecJson.parse(json), Set.of());
  }

  /** The property form: sorted members, no white space. */
  public String toJson() {
    return SpecJson.write(SpecJson.members(this));
  }

  private static void checkBucketing(
      List<String> key, int buckets, List<String> bucketBy, List<String> partitionBy) {
    if (key.isEmpty()) {
      throw new KeylakeException(DEFINITION, "the key is empty; name at least one key column");
    }
    if (buckets < 1 || buckets > MOST_BUCKETS) {
      throw new KeylakeException(
          DEFINITION, "buckets is %d; it must be from 1 to %d".formatted(buckets, MOST_BUCKETS));
    }
    if (bucketBy.isEmpty()) {
      throw new KeylakeException(
          DEFINITION, "bucket_by is empty; name columns of the key %s".formatted(key));
    }
    checkDistinct("the key", key);
    checkKeyColumns("bucket_by", bucketBy, key);
    checkKeyColumns("partition_by", partitionBy, key);
    if (partitionBy.containsAll(bucketBy)) {
      throw new KeylakeException(
          DEFINITION,
          "partition_by %s has all of bucket_by %s, so a partition would use one bucket only; take a column out of it"
              .formatted(partitionBy, bucketBy));
    }
  }

  private static void checkKeyColumns(String what, List<String> names, List<String> key) {
    checkDistinct(what, names);
    for (String name : names) {
      if (!key.contains(name)) {
        throw new KeylakeException(
            DEFINITION,
            "%s names '%s', which is not a column of the key %s".formatted(what, name, key));
      }
    }
  }

  private static void checkDistinct(String what, List<String> names) {
    Set<String> seen = new HashSet<>();
    for (String name : names) {
      if (!seen.add(name)) {
        throw new KeylakeException(
            DEFINITION, "%s names column '%s' twice; keep one".formatted(what, name));
      }
    }
  }

  private static void checkVersions(
      List<String> key, Versions versions, @Nullable String ordering) {
    if ((versions == Versions.ORDERING) != (ordering != null)) {
      throw new KeylakeException(
          DEFINITION,
          "versions is '%s' and the ordering column is %s; an ordering column goes with versions 'ordering' only"
              .formatted(
                  SpecJson.nameOf(versions), ordering == null ? "none" : "'" + ordering + "'"));
    }
    if (ordering != null && key.contains(ordering)) {
      throw new KeylakeException(
          DEFINITION, "the ordering column '%s' is a key column".formatted(ordering));
    }
  }

  private static void checkReducers(
      @Nullable String ordering, Map<String, ColumnGroup> groups, Map<String, Reducer> reducers) {
    if (ordering != null && reducers.containsKey(ordering)) {
      throw new KeylakeException(
          DEFINITION,
          "the ordering column '%s' has a reducer of its own, but the newest version wins; drop the reducer"
              .formatted(ordering));
    }
    Map<String, String> groupOf = new HashMap<>();
    groups.forEach(
        (name, group) -> {
          if (group.columns().isEmpty()) {
            throw new KeylakeException(
                DEFINITION, "the column group '%s' has no column".formatted(name));
          }
          for (String column : group.columns()) {
            checkGrouped(column, name, groupOf.put(column, name));
            if (column.equals(ordering)) {
              throw new KeylakeException(
                  DEFINITION,
                  "the ordering column '%s' is in column group '%s'; it has a version of its own"
                      .formatted(column, name));
            }
            if (group.columns().size() > 1
                && Reducer.LATEST_NOT_NULL.equals(reducers.get(column))) {
              throw new KeylakeException(
                  DEFINITION,
                  "column '%s' of group '%s' is reduced by LatestNotNull and cannot share a version"
                      .formatted(column, name));
            }
          }
        });
  }

  private static void checkGrouped(String column, String group, String other) {
    if (other != null) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' is in column groups '%s' and '%s'; keep it in one"
              .formatted(column, other, group));
    }
  }
}
