package io.keylake.tables.spec;

import io.keylake.tables.spec.ReducerOption.Flag;
import io.keylake.tables.spec.ReducerOption.Members;
import io.keylake.tables.spec.ReducerOption.Name;
import io.keylake.tables.spec.ReducerOption.Of;
import io.keylake.tables.spec.ReducerOption.Size;
import io.keylake.tables.spec.ReducerOption.Word;
import java.io.Serializable;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * The rule by which the writes of a column become one value. A register keeps one of the values, by
 * version; an accumulator combines all of them, which are its contributions.
 *
 * @param kind what it does
 * @param options what the kind can be told, by name; those that are left out and have no usual
 *     value are not there
 */
public record Reducer(Kind kind, SortedMap<String, Object> options) implements Serializable {
  private static final String DISTINCT = "distinct";
  private static final String LIMIT = "limit";
  private static final String OF = "of";
  private static final String MEMBERS = "members";
  public static final Reducer LATEST = of(Kind.LATEST);
  public static final Reducer LATEST_NOT_NULL = of(Kind.LATEST_NOT_NULL);

  /** The kinds of reducers. */
  public enum Kind {
    /** The newest write wins. */
    LATEST("Latest"),
    /** The newest write that is not null wins. */
    LATEST_NOT_NULL("LatestNotNull"),
    SUM("Sum"),
    MIN("Min"),
    MAX("Max"),
    /** The number of contributions. */
    COUNT("Count"),
    /** The contribution of the earliest version. */
    FIRST("First"),
    BOOL_AND("BoolAnd"),
    BOOL_OR("BoolOr"),
    /** A list of the contributions, in commit order. */
    COLLECT("Collect", new Flag(DISTINCT), new Size(LIMIT, 1, Integer.MAX_VALUE, null)),
    /** The sum of arrays, element by element. */
    ARRAY_SUM("ArraySum"),
    /** The union of maps; of one map key the later value, or what another reducer makes of all. */
    MAP_MERGE("MapMerge", new Of(OF, null)),
    /** The union of bitmaps. */
    BITMAP_OR("BitmapOr", new Flag("pages")),
    /** A value for each of the last days. */
    DAILY("Daily", new Size("days", 1, 3660, 90), new Of(OF, Kind.SUM)),
    /** The union of sketches that count distinct values. */
    HLL("Hll", new Size("lg_k", 4, 21, 12)),
    /** The union of sketches that count distinct values, also of intersections and differences. */
    THETA("Theta", new Size("lg_nominal", 4, 26, 12)),
    /** The union of sketches that estimate quantiles. */
    KLL(
        "Kll",
        new Size("k", 8, 65_535, 200),
        new Word("values", List.of("long", "float", "double"), "double")),
    /** The elements that are the largest by one of their members. */
    TOP_N("TopN", new Name("by"), new Size("n", 1, 10_000, 10)),
    /** The elements of the newest versions. */
    LATEST_N("LatestN", new Size("n", 1, 10_000, 10)),
    /** A sum and how many values it is of. */
    AVERAGE("Average"),
    /** Sums of the first four powers, and how many values they are of. */
    MOMENTS("Moments"),
    /** A struct whose members have reducers of their own. */
    STRUCT("Struct", new Members(MEMBERS)),
    /** A value that a class of a user makes of all values. */
    OWN("Own", new Name("name")),
    /** A value that a class of a user in Python makes of all values; its state is a struct. */
    PYTHON("Python", new Name("name"), new Name("state"));

    private final String type;
    private final List<ReducerOption> options;

    Kind(String type, ReducerOption... options) {
      this.type = type;
      this.options = List.of(options);
    }

    /** The name, the same in Python, JSON and SQL. */
    String type() {
      return type;
    }

    List<ReducerOption> options() {
      return options;
    }

    /** The reducer can be a part of another: of a struct, or of a value of a map. */
    boolean canBePart() {
      return !Set.of(LATEST, LATEST_NOT_NULL, FIRST, LATEST_N, OWN, PYTHON).contains(this);
    }
  }

  public Reducer {
    options = Collections.unmodifiableSortedMap(new TreeMap<>(options));
  }

  /** A reducer whose options are all as they usually are. */
  public static Reducer of(Kind kind) {
    SortedMap<String, Object> usual = new TreeMap<>();
    for (ReducerOption option : kind.options()) {
      Object value = option.usual();
      if (value != null) {
        usual.put(option.name(), value);
      }
    }
    return new Reducer(kind, usual);
  }

  /** The name of the reducer, the same in Python, JSON and SQL. */
  public String type() {
    return kind.type();
  }

  /** The name with the options, as in {@code Collect(distinct, limit=100)}. */
  public String text() {
    return ReducerForm.text(this);
  }

  /** The option of {@link Kind#COLLECT}: each value once. */
  public boolean distinct() {
    return isSet(DISTINCT);
  }

  public boolean isSet(String flag) {
    return options.containsKey(flag);
  }

  /** The option of {@link Kind#COLLECT}: the most values; null for any number. */
  public @Nullable Integer limit() {
    return (Integer) options.get(LIMIT);
  }

  /** A number that every reducer of the kind has. */
  public int size(String option) {
    return (Integer) Objects.requireNonNull(options.get(option), option);
  }

  /** A word that every reducer of the kind has. */
  public String word(String option) {
    return (String) Objects.requireNonNull(options.get(option), option);
  }

  /** The reducer of the contributions to one part: to a day, or to a key of a map. */
  public @Nullable Reducer of() {
    return (Reducer) options.get(OF);
  }

  /** The option of {@link Kind#STRUCT}: the reducer of each member. */
  @SuppressWarnings("unchecked") // the option checks them
  public Map<String, Reducer> members() {
    return (Map<String, Reducer>) options.getOrDefault(MEMBERS, Map.of());
  }

  public boolean isOfUser() {
    return kind == Kind.OWN || kind == Kind.PYTHON;
  }

  /** Every contribution counts, not only the newest. */
  public boolean accumulates() {
    return kind != Kind.LATEST && kind != Kind.LATEST_NOT_NULL;
  }

  /** A null says nothing, as if the column were absent. */
  public boolean skipsNulls() {
    return kind != Kind.LATEST;
  }

  /**
   * Contributions may be combined in any order and any groups before they are stored. What is in
   * doubt is combined in the order in which it is stored: lists, estimates that depend on groups,
   * and reducers that users write.
   */
  public boolean commutes() {
    return switch (kind) {
      case SUM, MIN, MAX, COUNT, BOOL_AND, BOOL_OR, ARRAY_SUM, AVERAGE, MOMENTS -> true;
      case BITMAP_OR, HLL, THETA -> true;
      case DAILY -> Objects.requireNonNull(of()).commutes();
      case STRUCT -> members().values().stream().allMatch(Reducer::commutes);
      default -> false;
    };
  }

  /** A contribution can be taken back. */
  public boolean hasInverse() {
    return switch (kind) {
      case SUM, COUNT, ARRAY_SUM, AVERAGE, MOMENTS -> true;
      case DAILY -> Objects.requireNonNull(of()).hasInverse();
      case STRUCT -> members().values().stream().allMatch(Reducer::hasInverse);
      default -> false;
    };
  }

  /**
   * The value of a stored row does not say all that later merges need. The rest is its state, bytes
   * in a hidden column of their own: the exact sum, where the value is rounded or the sum has no
   * place in its type; the versions of the elements, where the newest are kept.
   */
  public boolean hasState(Type type) {
    return ReducedType.missing(this, type) == null
        && switch (kind) {
          case SUM, ARRAY_SUM, AVERAGE, MOMENTS, LATEST_N, OWN, PYTHON -> true;
          case DAILY -> Objects.requireNonNull(of()).kind() == Kind.SUM;
          case MAP_MERGE -> of() != null && of().hasState(type.asMapType().valueType());
          case STRUCT -> statefulMembers(type).findAny().isPresent();
          default -> false;
        };
  }

  /**
   * A value with a state beside it is still what a read gives. An exact sum that its type cannot
   * hold has no value.
   */
  public boolean isShownWithState(Type type) {
    return switch (kind) {
      case SUM -> type.typeId() == Type.TypeID.FLOAT || type.typeId() == Type.TypeID.DOUBLE;
      case ARRAY_SUM -> of(Kind.SUM).isShownWithState(type.asListType().elementType());
      case DAILY -> of(Kind.ARRAY_SUM).isShownWithState(type.asStructType().fieldType("values"));
      case AVERAGE -> of(Kind.SUM).isShownWithState(type.asStructType().fieldType("sum"));
      case MAP_MERGE -> of() != null && of().isShownWithState(type.asMapType().valueType());
      case STRUCT ->
          statefulMembers(type)
              .allMatch(member -> reducerOf(member).isShownWithState(member.type()));
      default -> true;
    };
  }

  private Stream<NestedField> statefulMembers(Type type) {
    return type.asStructType().fields().stream()
        .filter(member -> reducerOf(member).hasState(member.type()));
  }

  private Reducer reducerOf(NestedField member) {
    return Objects.requireNonNull(members().get(member.name()), member.name());
  }
}
