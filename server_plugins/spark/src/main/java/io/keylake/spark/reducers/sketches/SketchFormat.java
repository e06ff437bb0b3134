package io.keylake.spark.reducers.sketches;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.tables.KeylakeException;
import java.util.Map;

/**
 * The format that a column of sketches takes, for sentences about a contribution that is something
 * else.
 *
 * @param name as users say it
 * @param family of the DataSketches library, in the third byte of all its sketches
 * @param size the option that all sketches of the column share
 * @param maker the function of SQL that makes such sketches
 */
record SketchFormat(String name, int family, String size, String maker) {
  private static final int FAMILY_AT = 2;
  private static final Map<Integer, String> FAMILIES =
      Map.of(1, "Theta", 2, "Theta", 3, "Theta", 7, "Hll", 15, "Kll");

  static SketchFormat hll(int lgK) {
    return new SketchFormat("Hll", 7, "lg_k=" + lgK, "hll_sketch_agg(value, " + lgK + ")");
  }

  static SketchFormat theta(int lgNominal) {
    return new SketchFormat(
        "Theta", 3, "lg_nominal=" + lgNominal, "theta_sketch_agg(value, " + lgNominal + ")");
  }

  static SketchFormat kll(int k, KllValues values) {
    String suffix = values == KllValues.LONG ? "bigint" : values.type();
    return new SketchFormat(
        "Kll",
        15,
        "k=%d of values of type %s".formatted(k, values.type()),
        "kll_sketch_agg_%s(value, %d)".formatted(suffix, k));
  }

  /** Refuses bytes of another family. */
  void check(byte[] bytes) {
    if (bytes.length < 8) {
      throw broken(bytes);
    }
    String found = FAMILIES.get((int) bytes[FAMILY_AT]);
    if (found == null) {
      throw broken(bytes);
    }
    if (bytes[FAMILY_AT] != family) {
      throw other(found.equals(name) ? found + " sketch that is not compact" : found + " sketch");
    }
  }

  /** Bytes that are not a sketch of the family, although they may begin like one. */
  KeylakeException broken(byte[] bytes) {
    return new KeylakeException(
        BAD_ROWS,
        "a contribution of %d bytes is not the bytes of %s sketch with %s; make it with %s"
            .formatted(bytes.length, withArticle(name), size, maker));
  }

  /**
   * A sketch that the column does not take.
   *
   * @param found what it is
   */
  KeylakeException other(String found) {
    return new KeylakeException(
        BAD_ROWS,
        "a contribution is %s, but the column takes %s sketches with %s; make it with %s"
            .formatted(withArticle(found), name, size, maker));
  }

  private static String withArticle(String sketch) {
    return (sketch.startsWith("Hll") ? "an " : "a ") + sketch;
  }
}
