package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.Reducer.Kind;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What all sketches of a column have in common. Sketches of another form are refused.
 *
 * @param size how large they are: {@code lg_k} of {@link Kind#HLL}, {@code lg_nominal} of {@link
 *     Kind#THETA}, {@code k} of {@link Kind#KLL}
 * @param values of {@link Kind#KLL}: what they are made of, which their bytes do not say; else null
 */
public record SketchForm(int size, @Nullable Values values) implements Serializable {
  static final String VALUES = "values";
  private static final Map<Kind, Range> RANGES =
      Map.of(
          Kind.HLL, new Range("lg_k", 4, 12, 21),
          Kind.THETA, new Range("lg_nominal", 4, 12, 26),
          Kind.KLL, new Range("k", 8, 200, 65_535));

  /** The types of the values that a Kll sketch is made of. */
  public enum Values {
    LONG("long"),
    FLOAT("float"),
    DOUBLE("double");

    private final String type;

    Values(String type) {
      this.type = type;
    }

    public String type() {
      return type;
    }
  }

  /**
   * The options as they are written.
   *
   * @param sizes by their names, those of other kinds too
   * @param values null where it is left out
   */
  record Options(Map<String, Integer> sizes, @Nullable String values) {}

  /** Sizes of one kind of sketches, as the functions of Spark have them. */
  private record Range(String name, int least, int usual, int most) {}

  /** The names of the options that are sizes. */
  static Set<String> sizes() {
    return RANGES.values().stream().map(Range::name).collect(Collectors.toSet());
  }

  /** The form without options; null where the reducer is not one of sketches. */
  static @Nullable SketchForm of(Kind kind) {
    Range range = RANGES.get(kind);
    return range == null
        ? null
        : new SketchForm(range.usual, kind == Kind.KLL ? Values.DOUBLE : null);
  }

  /** The form that options state for a column; null where the reducer is not one of sketches. */
  static @Nullable SketchForm of(String column, Kind kind, Options options) {
    Range range = RANGES.get(kind);
    for (String name : options.sizes.keySet()) {
      if (range == null || !range.name.equals(name)) {
        throw Reducer.unknown(column, Reducer.of(kind).type(), name);
      }
    }
    if (options.values != null && kind != Kind.KLL) {
      throw Reducer.unknown(column, Reducer.of(kind).type(), VALUES);
    }
    if (range == null) {
      return null;
    }
    int size = options.sizes.getOrDefault(range.name, range.usual);
    if (size < range.least || size > range.most) {
      throw outside(column, range.name, String.valueOf(size));
    }
    return new SketchForm(size, kind == Kind.KLL ? values(column, options.values) : null);
  }

  /** Of a size that is too small or too large. */
  static KeylakeException outside(String column, String name, String size) {
    Map.Entry<Kind, Range> of =
        RANGES.entrySet().stream()
            .filter(each -> each.getValue().name.equals(name))
            .findFirst()
            .orElseThrow();
    return new KeylakeException(
        DEFINITION,
        "the %s of %s is %s in column '%s'; use a whole number from %d to %d, or leave the option out"
            .formatted(
                name,
                Reducer.of(of.getKey()).type(),
                size,
                column,
                of.getValue().least,
                of.getValue().most));
  }

  private static Values values(String column, @Nullable String type) {
    if (type == null) {
      return Values.DOUBLE;
    }
    return Arrays.stream(Values.values())
        .filter(each -> each.type.equals(type))
        .findFirst()
        .orElseThrow(
            () ->
                new KeylakeException(
                    DEFINITION,
                    "the values of Kll are '%s' in column '%s'; they are long, float or double"
                        .formatted(type, column)));
  }

  /** The options as JSON has them. */
  Map<String, Object> members(Kind kind) {
    Map<String, Object> members = new TreeMap<>();
    Range range = RANGES.get(kind);
    if (range != null) {
      members.put(range.name, size);
    }
    if (values != null) {
      members.put(VALUES, values.type);
    }
    return members;
  }

  /** The options as properties have them. */
  List<String> text(Kind kind) {
    List<String> options = new ArrayList<>();
    members(kind).forEach((name, value) -> options.add(name + "=" + value));
    return options;
  }
}
