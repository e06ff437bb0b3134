package io.keylake.tables.isolation;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.util.Map;

/**
 * The number of times that a statement is run again that has lost against commits of others. It is
 * a property of tables, as Iceberg has one for commits.
 */
public final class Retries {
  public static final String PROPERTY = "statement.retry.num-retries";

  private static final String DEFAULT = "4";
  private static final int MOST = 100;

  private Retries() {}

  /** The number that a table states. */
  public static int of(Map<String, String> properties) {
    String said = properties.getOrDefault(PROPERTY, DEFAULT).strip();
    int retries = said.matches("\\d{1,3}") ? Integer.parseInt(said) : -1;
    if (retries < 0 || retries > MOST) {
      throw new KeylakeException(
          DEFINITION,
          "property '%s' is '%s'; it must be a whole number from 0 to %d"
              .formatted(PROPERTY, said, MOST));
    }
    return retries;
  }

  /** Refuses what is no number of retries. */
  public static void check(String property, String value) {
    if (property.equals(PROPERTY)) {
      of(Map.of(property, value));
    }
  }
}
