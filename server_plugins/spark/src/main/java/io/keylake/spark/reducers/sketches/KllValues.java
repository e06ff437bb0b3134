package io.keylake.spark.reducers.sketches;

import java.util.Locale;

/** The type of the values of a Kll sketch, which its bytes do not say. */
public enum KllValues {
  LONG,
  FLOAT,
  DOUBLE;

  /** The values by the name of the type. */
  public static KllValues of(String type) {
    return valueOf(type.toUpperCase(Locale.ROOT));
  }

  String type() {
    return name().toLowerCase(Locale.ROOT);
  }
}
