package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.iceberg.types.Type;
import org.jspecify.annotations.Nullable;

/**
 * How the writes of a column become one value. A register keeps one of the values, by version; an
 * accumulator combines all of them, which are its contributions.
 *
 * @param kind what it does
 * @param distinct of {@link Kind#COLLECT}: each value once
 * @param limit of {@link Kind#COLLECT}: the most values; null for any number
 */
public record Reducer(Kind kind, boolean distinct, @Nullable Integer limit)
    implements Serializable {
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
    BITMAP_OR("BitmapOr");

    private final String type;

    Kind(String type) {
      this.type = type;
    }
  }

  public static Reducer of(Kind kind) {
    return new Reducer(kind, false, null);
  }

  /** The name of the reducer, the same in Python, JSON and SQL. */
  public String type() {
    return kind.type;
  }

  static Reducer of(String column, String type) {
    return Arrays.stream(Kind.values())
        .filter(kind -> kind.type.equals(type))
        .map(Reducer::of)
        .findFirst()
        .orElseThrow(
            () ->
                new KeylakeException(
                    DEFINITION,
                    "column '%s' has the reducer '%s', which this server does not know; it knows %s"
                        .formatted(
                            column,
                            type,
                            Arrays.stream(Kind.values())
                                .map(kind -> kind.type)
                                .collect(Collectors.joining(", ")))));
  }

  /** Whether every contribution counts, not only the newest. */
  public boolean accumulates() {
    return kind != Kind.LATEST && kind != Kind.LATEST_NOT_NULL;
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
    return kind == Kind.SUM || (kind == Kind.ARRAY_SUM && type.isListType());
  }

  /**
   * Whether a value with a state beside it is still what a read gives. An exact sum that its type
   * cannot hold has no value.
   */
  public boolean isShownWithState(Type type) {
    Type summed = type.isListType() ? type.asListType().elementType() : type;
    return summed.typeId() == Type.TypeID.FLOAT || summed.typeId() == Type.TypeID.DOUBLE;
  }
}
