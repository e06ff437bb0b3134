package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.Reducer.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Reducers as JSON and properties have them. Both are read into the same form first: a name alone,
 * or a map with the member {@code type} and the options.
 */
final class ReducerForm {
  private static final String TYPE = "type";

  private ReducerForm() {}

  /**
   * Reads the form of a property: {@code Sum}, {@code Collect(distinct, limit=100)}.
   *
   * @param column which has it, for sentences
   */
  static Reducer parse(String column, String text) {
    return read(column, new ReducerParser(column, text).form());
  }

  /** Reads the form of a spec: {@code {"type": "Collect", "limit": 100}}. */
  static Reducer parse(String column, JsonNode form) {
    return read(column, neutral(form));
  }

  private static Object neutral(JsonNode node) {
    if (node.isObject()) {
      Map<String, Object> members = new LinkedHashMap<>();
      node.properties().forEach(each -> members.put(each.getKey(), neutral(each.getValue())));
      return members;
    }
    return node.isInt()
        ? (Object) node.intValue()
        : node.isBoolean()
            ? (Object) node.booleanValue()
            : node.isTextual() ? node.textValue() : node;
  }

  /**
   * @param form a name, or a map of the type and the options
   */
  static Reducer read(String column, Object form) {
    Map<?, ?> members = form instanceof Map<?, ?> map ? map : Map.of(TYPE, form);
    if (!(members.get(TYPE) instanceof String type)) {
      throw new KeylakeException(
          DEFINITION,
          "the reducer of column '%s' is %s; it has a member 'type' with its name"
              .formatted(column, form));
    }
    Kind kind = kind(column, type);
    Map<String, ReducerOption> known = new HashMap<>();
    kind.options().forEach(option -> known.put(option.name(), option));
    SortedMap<String, Object> options = new TreeMap<>(Reducer.of(kind).options());
    members.forEach(
        (name, given) -> {
          ReducerOption option = known.get((String) name);
          if (name.equals(TYPE)) {
            return;
          }
          if (option == null) {
            throw unknown(column, type, (String) name);
          }
          if (given instanceof JsonNode node && node.isNull()) {
            throw new KeylakeException(
                DEFINITION,
                "the option '%s' of %s is null in column '%s'; leave the option out"
                    .formatted(name, type, column));
          }
          Object value = option.read(column, kind, given);
          if (value != null) {
            options.put(option.name(), value);
          }
        });
    for (ReducerOption option : kind.options()) {
      boolean isNeeded =
          option instanceof ReducerOption.Name || option instanceof ReducerOption.Members;
      if (isNeeded && !options.containsKey(option.name())) {
        throw new KeylakeException(
            DEFINITION,
            "the reducer %s of column '%s' lacks the option '%s', which it needs"
                .formatted(type, column, option.name()));
      }
    }
    return new Reducer(kind, options);
  }

  private static Kind kind(String column, String type) {
    return Arrays.stream(Kind.values())
        .filter(each -> each.type().equals(type))
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
                                .map(Kind::type)
                                .collect(Collectors.joining(", ")))));
  }

  private static KeylakeException unknown(String column, String type, String option) {
    return new KeylakeException(
        DEFINITION,
        "the reducer of column '%s' has the option '%s', which %s does not have; use a newer server or drop the option"
            .formatted(column, option, type));
  }

  /** The form that specs keep. */
  static Map<String, Object> members(Reducer reducer) {
    Map<String, Object> members = new TreeMap<>();
    members.put(TYPE, reducer.type());
    reducer.options().forEach((name, value) -> members.put(name, json(value)));
    return members;
  }

  private static Object json(Object value) {
    if (value instanceof Reducer of) {
      return members(of);
    }
    if (value instanceof Map<?, ?> each) {
      Map<String, Object> forms = new TreeMap<>();
      each.forEach((member, of) -> forms.put((String) member, json(of)));
      return forms;
    }
    return value;
  }

  /** The form that {@link #parse(String, String)} reads. */
  static String text(Reducer reducer) {
    List<String> options = new ArrayList<>();
    for (ReducerOption option : reducer.kind().options()) {
      Object value = reducer.options().get(option.name());
      if (value instanceof Map<?, ?> members) {
        members.forEach(
            (member, of) ->
                options.add(ReducerParser.word((String) member) + "=" + text((Reducer) of)));
      } else if (value != null) {
        options.add(value.equals(true) ? option.name() : option.name() + "=" + text(value));
      }
    }
    return options.isEmpty()
        ? reducer.type()
        : reducer.type() + "(" + String.join(", ", options) + ")";
  }

  private static String text(Object value) {
    return value instanceof Reducer of
        ? text(of)
        : value instanceof String word ? ReducerParser.word(word) : value.toString();
  }
}
