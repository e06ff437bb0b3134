package io.keylake.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RetentionPolicyTest {
  @Test
  void jsonAndBack() {
    assertEquals(RetentionPolicy.DEFAULT, RetentionPolicy.fromJson("{}"));
    assertNull(RetentionPolicy.DEFAULT.kept());
    RetentionPolicy own = RetentionPolicy.fromJson("{\"days\": 0.5, \"snapshots\": 100}");
    assertEquals(Duration.ofHours(12), own.kept());
    assertEquals(Duration.ofDays(3), own.orphansKept());
    assertEquals(own, RetentionPolicy.fromJson(own.toJson()));
    assertEquals(
        RetentionPolicy.DEFAULT, RetentionPolicy.fromJson(RetentionPolicy.DEFAULT.toJson()));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          {"days": -1}         | days -1.0; it must be 0 or more
          {"days": "week"}     | days "week"; it must be a number
          {"snapshots": 0}     | snapshots 0; it must be at least 1
          {"snapshots": null}  | snapshots null; it must be a number
          {"orphan_days": -2}  | orphan_days -2.0; it must be 0 or more
          {"weeks": 1}         | a JSON object with the members days, snapshots, orphan_days
          7                    | a JSON object with the members days, snapshots, orphan_days
          {                    | the retention policy is not JSON
          """)
  void whatMakesNoSenseIsRefused(String json, String says) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> RetentionPolicy.fromJson(json));
    assertEquals(KeylakeException.Kind.DEFINITION, refused.kind());
    assertTrue(refused.getMessage().contains(says), refused.getMessage());
  }
}
