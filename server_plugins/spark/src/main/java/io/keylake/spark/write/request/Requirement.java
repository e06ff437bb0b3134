package io.keylake.spark.write.request;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.SpecJson;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The conditions that each row of a write has to satisfy, and what becomes of one that does not.
 *
 * @param conditions in SQL, of columns of the rows; one that is null does not hold
 * @param holdsBack whether such rows go to the quarantine; else they fail the write
 */
public record Requirement(List<String> conditions, boolean holdsBack) implements Serializable {
  public static final String REQUIRE = "require";
  public static final String ON_FAILURE = "on_failure";

  private static final String RAISE = "raise";
  private static final String QUARANTINE = "quarantine";

  public Requirement {
    conditions = List.copyOf(conditions);
  }

  /**
   * The requirement that options state; null for none.
   *
   * @param require a condition, or a list of them in JSON
   */
  static @Nullable Requirement of(@Nullable String require, @Nullable String onFailure) {
    if (onFailure != null && !onFailure.equals(RAISE) && !onFailure.equals(QUARANTINE)) {
      throw new KeylakeException(
          DEFINITION,
          "option %s is '%s'; it is '%s' or '%s'"
              .formatted(ON_FAILURE, onFailure, RAISE, QUARANTINE));
    }
    List<String> conditions = require == null ? List.of() : conditions(require);
    if (onFailure != null && conditions.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "option %s says what becomes of rows that fail, and no condition is stated; give option %s, such as 'clicks >= 0'"
              .formatted(ON_FAILURE, REQUIRE));
    }
    return conditions.isEmpty() ? null : new Requirement(conditions, QUARANTINE.equals(onFailure));
  }

  private static List<String> conditions(String text) {
    if (!text.strip().startsWith("[")) {
      return List.of(text);
    }
    List<String> conditions = new ArrayList<>();
    for (JsonNode each : parsed(text)) {
      if (!each.isTextual()) {
        throw bad(text);
      }
      conditions.add(each.asText());
    }
    return conditions;
  }

  private static JsonNode parsed(String text) {
    try {
      return SpecJson.parse(text);
    } catch (RuntimeException e) {
      throw bad(text);
    }
  }

  private static KeylakeException bad(String text) {
    return new KeylakeException(
        DEFINITION,
        "option %s is %s; give a condition in SQL, such as 'clicks >= 0', or a list of them in JSON"
            .formatted(REQUIRE, text));
  }
}
