package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * How the writes of a column become one value. A register keeps one of the values, by version; an
 * accumulator combines all of them, which are its contributions.
 *
 * @param kind what it does
 * @param distinct of {@link Kind#COLLECT}: each value once
 * @param limit of {@link Kind#COLLECT}: the most values; null for any number
 * @param days of {@link Kind#DAILY}: how many days are kept, the newest included; else null
 * @param of of {@link Kind#DAILY}: what is done with the contributions of one day; else null
 * @param sketch of {@link Kind#HLL}, {@link Kind#THETA} and {@link Kind#KLL}; else null
 */
public record Reducer(
    Kind kind,
    boolean distinct,
    @Nullable Integer limit,
    @Nullable Integer days,
    @Nullable Kind of,
    @Nullable SketchForm sketch)
    implements Serializable {
  private static final Pattern FORM = Pattern.compile("(\\w+)(?:\\(([^()]*)\\))?");
  private static final Pattern OPTION =
      Pattern.compile(
          "(?<flag>distinct)|(?<count>limit|days|lg_k|lg_nominal|k)\\s*=\\s*(?<number>[+-]?\\d+)|(?<of>of|values)\\s*=\\s*(?<type>\\w+)");
  private static final String DISTINCT = "distinct";
  private static final String LIMIT = "limit";
  private static final String DAYS = "days";
  private static final String OF = "of";
  private static final int DEFAULT_DAYS = 90;
  private static final int MOST_DAYS = 3660;
  private static final String NUMBER = "int, long, float, double or decimal";
  public static final Reducer LATEST = of(Kind.LATEST);
  public static final Reducer LATEST_NOT_NULL = of(Kind.LATEST_NOT_NULL);

  /** What reducers there are. */
  public enum Kind {
    /** The newest write wins. */
    LATEST("Latest"),
    /** The newest write that is not null wins. */
    LATEST_NOT_NULL("LatestNotNull"),
    SUM("Sum"),
    MIN("Min"),
    MAX("Max"),
    /** How many contributions there are. */
    COUNT("Count"),
    /** The contribution of the earliest version. */
    FIRST("First"),
    BOOL_AND("BoolAnd"),
    BOOL_OR("BoolOr"),
    /** A list of the contributions, in commit order. */
    COLLECT("Collect"),
    /** The sum of arrays, element by element. */
    ARRAY_SUM("ArraySum"),
    /** The union of maps; of one map key the later value. */
    MAP_MERGE("MapMerge"),
    /** The union of bitmaps. */
    BITMAP_OR("BitmapOr"),
    /** A value for each of the last days. */
    DAILY("Daily"),
    /** The union of sketches that count distinct values. */
    HLL("Hll"),
    /** The union of sketches that count distinct values, also of intersections and differences. */
    THETA("Theta"),
    /** The union of sketches that estimate quantiles. */
    KLL("Kll");

    private final String type;

    Kind(String type) {
      this.type = type;
    }
  }

  /** The options of a reducer as they are written; null where they are left out. */
  record Options(
      @Nullable Boolean distinct,
      @Nullable Integer limit,
      @Nullable Integer days,
      @Nullable String of,
      SketchForm.Options sketch) {}

  public static Reducer of(Kind kind) {
    return new Reducer(
        kind,
        false,
        null,
        kind == Kind.DAILY ? DEFAULT_DAYS : null,
        kind == Kind.DAILY ? Kind.SUM : null,
        SketchForm.of(kind));
  }

  /** The name of the reducer, the same in Python, JSON and SQL. */
  public String type() {
    return kind.type;
  }

  /**
   * Reads the form of a property: {@code Sum}, {@code Collect(distinct, limit=100)}.
   *
   * @param column which has it, for sentences
   */
  static Reducer parse(String column, String text) {
    Matcher form = FORM.matcher(text.strip());
    if (!form.matches()) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' has the reducer '%s'; write its name, with options in parentheses, as in Collect(distinct, limit=100)"
              .formatted(column, text));
    }
    String type = form.group(1);
    String options = form.group(2) == null ? "" : form.group(2);
    Map<String, String> words = new HashMap<>();
    for (String option : options.isBlank() ? new String[0] : options.split(",", -1)) {
      Matcher word = OPTION.matcher(option.strip());
      if (!word.matches() || words.putIfAbsent(nameOf(word), valueOf(word)) != null) {
        throw unknown(column, type, option.strip());
      }
    }
    Map<String, Integer> sizes = new HashMap<>();
    for (String name : SketchForm.sizes()) {
      Integer size = number(column, type, words, name);
      if (size != null) {
        sizes.put(name, size);
      }
    }
    Options read =
        new Options(
            words.containsKey(DISTINCT) ? true : null,
            number(column, type, words, LIMIT),
            number(column, type, words, DAYS),
            words.get(OF),
            new SketchForm.Options(sizes, words.get(SketchForm.VALUES)));
    return of(column, type, read);
  }

  private static String nameOf(Matcher word) {
    return Stream.of("flag", "count", "of")
        .map(word::group)
        .filter(Objects::nonNull)
        .findFirst()
        .orElseThrow();
  }

  private static String valueOf(Matcher word) {
    return Stream.of("number", "type")
        .map(word::group)
        .filter(Objects::nonNull)
        .findFirst()
        .orElse("");
  }

  private static @Nullable Integer number(
      String column, String type, Map<String, String> words, String name) {
    String number = words.get(name);
    try {
      return number == null ? null : Integer.valueOf(number);
    } catch (NumberFormatException e) {
      throw outside(column, type, name, number);
    }
  }

  /** The form that {@link #parse} reads. */
  String text() {
    List<String> options = new ArrayList<>();
    if (distinct) {
      options.add(DISTINCT);
    }
    if (limit != null) {
      options.add(LIMIT + "=" + limit);
    }
    if (days != null) {
      options.add(DAYS + "=" + days);
    }
    if (of != null) {
      options.add(OF + "=" + of.type);
    }
    if (sketch != null) {
      options.addAll(sketch.text(kind));
    }
    return options.isEmpty() ? type() : type() + "(" + String.join(", ", options) + ")";
  }

  /** A reducer by its name and options, for a column. */
  static Reducer of(String column, String type, Options options) {
    Kind kind = kind(column, type);
    boolean distinct = Boolean.TRUE.equals(options.distinct());
    if (kind != Kind.COLLECT && (distinct || options.limit() != null)) {
      throw unknown(column, type, distinct ? DISTINCT : LIMIT);
    }
    if (kind != Kind.DAILY && (options.days() != null || options.of() != null)) {
      throw unknown(column, type, options.days() != null ? DAYS : OF);
    }
    checkRange(column, type, LIMIT, options.limit(), Integer.MAX_VALUE);
    checkRange(column, type, DAYS, options.days(), MOST_DAYS);
    SketchForm sketch = SketchForm.of(column, kind, options.sketch());
    if (kind != Kind.DAILY) {
      return new Reducer(kind, distinct, options.limit(), null, null, sketch);
    }
    Kind of = options.of() == null ? Kind.SUM : kind(column, options.of());
    if (!Set.of(Kind.SUM, Kind.MIN, Kind.MAX).contains(of)) {
      throw new KeylakeException(
          DEFINITION,
          "reducer Daily of column '%s' is of %s; it is of Sum, Min or Max"
              .formatted(column, of.type));
    }
    return new Reducer(
        kind, false, null, options.days() == null ? DEFAULT_DAYS : options.days(), of, null);
  }

  private static Kind kind(String column, String type) {
    return Arrays.stream(Kind.values())
        .filter(each -> each.type.equals(type))
        .findFirst()
        .orElseThrow(
            () ->
                new KeylakeException(
                    DEFINITION,
                    "column '%s' has the reducer '%s', which this server does not know; it knows %s"
                        .formatted(column, type, names())));
  }

  private static void checkRange(
      String column, String type, String name, @Nullable Integer value, int most) {
    if (value != null && (value < 1 || value > most)) {
      throw outside(column, type, name, value.toString());
    }
  }

  private static KeylakeException outside(String column, String type, String name, String value) {
    if (SketchForm.sizes().contains(name)) {
      return SketchForm.outside(column, name, value);
    }
    return new KeylakeException(
        DEFINITION,
        "the %s of %s is %s in column '%s'; use a whole number from 1 to %d, or leave the option out"
            .formatted(
                name, type, value, column, name.equals(DAYS) ? MOST_DAYS : Integer.MAX_VALUE));
  }

  static KeylakeException unknown(String column, String type, String option) {
    return new KeylakeException(
        DEFINITION,
        "the reducer of column '%s' has the option '%s', which %s does not have; use a newer server or drop the option"
            .formatted(column, option, type));
  }

  private static String names() {
    return Arrays.stream(Kind.values()).map(kind -> kind.type).collect(Collectors.joining(", "));
  }

  /** What a column must be of to have the reducer; null where the type fits. */
  @Nullable String missingType(Type type) {
    return switch (kind) {
      case LATEST, LATEST_NOT_NULL, FIRST -> null;
      case SUM -> isNumber(type) ? null : NUMBER;
      case MIN, MAX ->
          isOrdered(type) ? null : "a number, boolean, date, timestamp, string or binary";
      case COUNT -> type.typeId() == Type.TypeID.LONG ? null : "long";
      case BOOL_AND, BOOL_OR -> type.typeId() == Type.TypeID.BOOLEAN ? null : "boolean";
      case COLLECT -> missingElement(type);
      case ARRAY_SUM ->
          type.isListType() && isNumber(type.asListType().elementType())
              ? null
              : "a list whose elements are " + NUMBER;
      case MAP_MERGE ->
          type.isMapType() && isOrdered(type.asMapType().keyType())
              ? null
              : "a map whose keys are numbers, booleans, dates, timestamps, strings or binary";
      case BITMAP_OR, HLL, THETA, KLL -> type.typeId() == Type.TypeID.BINARY ? null : "binary";
      case DAILY ->
          isDaily(type) ? null : "a struct of a date 'day' and a list 'values' of " + NUMBER;
    };
  }

  private static boolean isDaily(Type type) {
    if (!type.isStructType() || type.asStructType().fields().size() != 2) {
      return false;
    }
    NestedField day = type.asStructType().fields().get(0);
    NestedField values = type.asStructType().fields().get(1);
    return day.name().equals("day")
        && day.type().typeId() == Type.TypeID.DATE
        && values.name().equals("values")
        && values.type().isListType()
        && isNumber(values.type().asListType().elementType());
  }

  private @Nullable String missingElement(Type type) {
    if (!type.isListType()) {
      return "a list";
    }
    return distinct && hasMap(type.asListType().elementType())
        ? "a list whose elements have no map in them, since maps cannot be compared"
        : null;
  }

  private static boolean hasMap(Type type) {
    return type.isMapType()
        || (type.isNestedType()
            && type.asNestedType().fields().stream().anyMatch(field -> hasMap(field.type())));
  }

  private static boolean isNumber(Type type) {
    return switch (type.typeId()) {
      case INTEGER, LONG, FLOAT, DOUBLE, DECIMAL -> true;
      default -> false;
    };
  }

  private static boolean isOrdered(Type type) {
    return switch (type.typeId()) {
      case BOOLEAN, DATE, TIMESTAMP, STRING, BINARY -> true;
      default -> isNumber(type);
    };
  }

  /** Whether every contribution counts, not only the newest. */
  public boolean accumulates() {
    return kind != Kind.LATEST && kind != Kind.LATEST_NOT_NULL;
  }

  /** Whether a contribution can be taken back. */
  public boolean hasInverse() {
    return switch (kind) {
      case SUM, COUNT, ARRAY_SUM -> true;
      case DAILY -> of == Kind.SUM;
      default -> false;
    };
  }

  /** Whether a null says nothing, as if the column were absent. */
  public boolean skipsNulls() {
    return kind != Kind.LATEST;
  }

  /**
   * Whether the value of a stored row does not say all that later merges need. The rest is its
   * state, bytes in a hidden column of their own: the exact sum, where the value is rounded or the
   * sum has no place in its type.
   */
  public boolean hasState(Type type) {
    return kind == Kind.SUM
        || (kind == Kind.ARRAY_SUM && type.isListType())
        || (kind == Kind.DAILY && of == Kind.SUM && type.isStructType());
  }

  /**
   * Whether a value with a state beside it is still what a read gives. An exact sum that its type
   * cannot hold has no value.
   */
  public boolean isShownWithState(Type type) {
    Type list = kind == Kind.DAILY ? type.asStructType().field("values").type() : type;
    Type summed = list.isListType() ? list.asListType().elementType() : list;
    return summed.typeId() == Type.TypeID.FLOAT || summed.typeId() == Type.TypeID.DOUBLE;
  }
}
