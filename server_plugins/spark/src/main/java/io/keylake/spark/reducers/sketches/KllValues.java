package io.keylake.spark.reducers.sketches;

import java.util.Locale;

/** What the values of a Kll sketch are, which its bytes do not say. */
public enum KllValues {
  LONG,
  FLOAT,
  DOUBLE;

  /** The values of a type, by its name. */
  public static KllValues of(String type) {
    return valueOf(type.toUpperCase(Locale.ROOT));
  }

  String type() {
    return name().toLowerCase(Locale.ROOT);
  }
}
