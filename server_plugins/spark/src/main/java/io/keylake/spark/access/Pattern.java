package io.keylake.spark.access;

import java.util.Arrays;
import java.util.stream.Collectors;

/** A name in which {@code *} is any text, dots included. */
record Pattern(String text, java.util.regex.Pattern compiled) {
  static final Pattern ALL = of("*");

  static Pattern of(String text) {
    String expression =
        Arrays.stream(text.split("\\*", -1))
            .map(java.util.regex.Pattern::quote)
            .collect(Collectors.joining(".*"));
    return new Pattern(
        text, java.util.regex.Pattern.compile(expression, java.util.regex.Pattern.DOTALL));
  }

  boolean matches(String name) {
    return compiled.matcher(name).matches();
  }

  boolean isAll() {
    return text.equals("*");
  }

  /** Names that begin with the prefix can match. */
  boolean canMatchBelow(String prefix) {
    int star = text.indexOf('*');
    String fixed = star < 0 ? text : text.substring(0, star);
    return fixed.startsWith(prefix) || (star >= 0 && prefix.startsWith(fixed));
  }
}
