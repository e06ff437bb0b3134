package io.keylake.tables.branches;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.PointInTime;
import io.keylake.tables.history.RetentionPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RetentionPolicyTest {
  @Test
  void jsonAndBack() {
    assertEquals(RetentionPolicy.DEFAULT, RetentionPolicy.fromJson("{}"));
    assertEquals(Duration.ofDays(7), RetentionPolicy.DEFAULT.kept());
    assertEquals(1000, RetentionPolicy.DEFAULT.maxSnapshots());
    assertNull(RetentionPolicy.fromJson("{\"days\": null}").kept());
    RetentionPolicy own = RetentionPolicy.fromJson("{\"days\": 0.5, \"snapshots\": 100}");
    assertEquals(Duration.ofHours(12), own.kept());
    assertEquals(Duration.ofDays(3), own.orphansKept());
    assertEquals(own, RetentionPolicy.fromJson(own.toJson()));
    assertEquals(
        RetentionPolicy.DEFAULT, RetentionPolicy.fromJson(RetentionPolicy.DEFAULT.toJson()));
  }

  @ParameterizedTest(name = "{0}: {1}")
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      nullValues = "null",
      textBlock =
          """
          {}                                    | 1000
          {"orphan_days": 1}                    | 1000
          {"days": 90}                          | null
          {"snapshots": 5000}                   | null
          {"days": 90, "max_snapshots": 50}     | 50
          {"max_snapshots": null}               | null
          """)
  void whatSaysHowLongAndNotHowManyHasNoLimit(String json, Integer most) {
    assertEquals(most, RetentionPolicy.fromJson(json).maxSnapshots());
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
          {"max_snapshots": 0} | max_snapshots 0; it must be at least 1
          {"snapshots": null}  | snapshots null; it must be a number
          {"orphan_days": -2}  | orphan_days -2.0; it must be 0 or more
          {"weeks": 1}         | a JSON object with the members days, snapshots, max_snapshots, orphan_days, history_days, history_months, idempotency_days
          7                    | a JSON object with the members days, snapshots, max_snapshots, orphan_days, history_days, history_months, idempotency_days
          {                    | the retention policy is not JSON
          """)
  void whatMakesNoSenseIsRefused(String json, String says) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> RetentionPolicy.fromJson(json));
    assertEquals(KeylakeException.Kind.DEFINITION, refused.kind());
    assertTrue(refused.getMessage().contains(says), refused.getMessage());
  }

  private static HistoryBranches.State state(String day) {
    return new HistoryBranches.State(PointInTime.of("day", day), "history_" + day, 1);
  }

  @ParameterizedTest(name = "days {0}, months {1}: {2}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          null | 0  | 2025-12-30 2026-01-30 2026-01-31 2026-02-01 2026-03-01
          29   | 0  | 2026-02-01 2026-03-01
          0    | 0  | 2026-03-01
          0    | 1  | 2026-02-01 2026-03-01
          0    | 2  | 2026-01-31 2026-02-01 2026-03-01
          29   | 12 | 2025-12-30 2026-01-31 2026-02-01 2026-03-01
          """)
  void archivedStatesAreKept(String days, int months, String kept) {
    RetentionPolicy policy =
        RetentionPolicy.fromJson(
            "{\"history_days\": %s, \"history_months\": %d}".formatted(days, months));
    List<HistoryBranches.State> states =
        Stream.of("2025-12-30", "2026-01-30", "2026-01-31", "2026-02-01", "2026-03-01")
            .map(RetentionPolicyTest::state)
            .toList();
    List<HistoryBranches.State> left = new ArrayList<>(states);
    left.removeAll(HistoryBranches.expired(policy, states, PointInTime.of("now", "2026-03-02")));
    assertEquals(
        kept,
        left.stream().map(each -> each.branch().substring(8)).collect(Collectors.joining(" ")));
  }
}
