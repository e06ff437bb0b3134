package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads a reducer as properties write it: a name, and options in parentheses. An option is a word
 * alone or {@code name=value}; a value is a number, a word, or a reducer with options of its own.
 * Words that have other characters than letters, digits, {@code _}, {@code .} and {@code $} stand
 * in backticks.
 */
final class ReducerParser {
  private static final Pattern WORD = Pattern.compile("\\s*(?:([\\w.$]+)|`((?:[^`]|``)+)`)\\s*");
  private static final Pattern NUMBER = Pattern.compile("\\s*([+-]?\\d+)\\s*");
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z_][\\w.$]*");

  private final String column;
  private final String text;
  private int at;

  ReducerParser(String column, String text) {
    this.column = column;
    this.text = text;
  }

  /** A word as {@link #form} reads it. */
  static String word(String word) {
    return PLAIN.matcher(word).matches() ? word : "`" + word.replace("`", "``") + "`";
  }

  /** The name alone, or a map of the type and the options. */
  Object form() {
    Object form = value();
    if (at < text.length() || !isForm(form)) {
      throw broken();
    }
    return form;
  }

  private static boolean isForm(Object form) {
    return form instanceof String || form instanceof Map<?, ?>;
  }

  /** A number, a word, or a word with options. */
  private Object value() {
    Matcher number = NUMBER.matcher(text).region(at, text.length());
    if (number.lookingAt()) {
      at = number.end();
      try {
        return Integer.valueOf(number.group(1));
      } catch (NumberFormatException e) {
        return number.group(1); // which no option takes
      }
    }
    String word = word();
    return isNext('(') ? withOptions(word) : word;
  }

  private Map<String, Object> withOptions(String type) {
    Map<String, Object> options = new LinkedHashMap<>();
    if (!isNext(')')) {
      do {
        String name = word();
        Object value = isNext('=') ? value() : true;
        if (options.putIfAbsent(name, value) != null) {
          throw new KeylakeException(
              DEFINITION,
              "the reducer of column '%s' has the option '%s' twice; write it once"
                  .formatted(column, name));
        }
      } while (isNext(','));
      if (!isNext(')')) {
        throw broken();
      }
    }
    Map<String, Object> form = new LinkedHashMap<>();
    form.put("type", type);
    if (type.equals(Reducer.Kind.STRUCT.type())) {
      form.put("members", options);
    } else {
      form.putAll(options);
    }
    return form;
  }

  private String word() {
    Matcher word = WORD.matcher(text).region(at, text.length());
    if (!word.lookingAt()) {
      throw broken();
    }
    at = word.end();
    return word.group(1) != null ? word.group(1) : word.group(2).replace("``", "`");
  }

  private boolean isNext(char sign) {
    if (at == text.length() || text.charAt(at) != sign) {
      return false;
    }
    at++;
    while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
      at++;
    }
    return true;
  }

  private KeylakeException broken() {
    return new KeylakeException(
        DEFINITION,
        "column '%s' has the reducer '%s', which cannot be read from position %d on; write its name, with options in parentheses, as in Collect(distinct, limit=100)"
            .formatted(column, text, at + 1));
  }
}
