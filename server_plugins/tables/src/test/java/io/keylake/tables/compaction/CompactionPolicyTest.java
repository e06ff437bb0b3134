package io.keylake.tables.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CompactionPolicyTest {
  @Test
  void jsonAndBack() {
    assertEquals(CompactionPolicy.DEFAULT, CompactionPolicy.fromJson("{}"));
    CompactionPolicy own =
        CompactionPolicy.fromJson(
            "{\"tier_runs\": 8, \"superseded_share\": 0.25, \"tombstone_seconds\": 86400}");
    assertEquals(8, own.tierRuns());
    assertEquals(own, CompactionPolicy.fromJson(own.toJson()));
    assertEquals(CompactionPolicy.FULL, CompactionPolicy.fromJson(CompactionPolicy.FULL.toJson()));
  }

  @Test
  void tiersGrow() {
    CompactionPolicy policy = CompactionPolicy.fromJson("{\"small_bytes\": 10}");
    assertEquals(0, policy.tier(9));
    assertEquals(1, policy.tier(10));
    assertEquals(1, policy.tier(39));
    assertEquals(2, policy.tier(40));
    assertTrue(policy.tier(Long.MAX_VALUE) < 64);
    assertEquals(0, CompactionPolicy.FULL.tier(Long.MAX_VALUE - 1));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          {"tier_runs": 1}                                    | tier_runs 1; it must be at least 2
          {"tier_ratio": 1}                                   | tier_ratio 1; it must be at least 2
          {"max_files": 3}                                    | max_files 3; it must be at least tier_runs, which is 4
          {"superseded_share": 1.5}                           | superseded_share 1.5; it must be between 0 and 1
          {"superseded_share": 0.1, "least_freed_share": 0.2} | least_freed_share 0.2; it must be between 0 and superseded_share, which is 0.1
          {"max_bytes": 5}                                    | max_bytes 5; it must be at least target_file_bytes
          {"target_file_bytes": 0}                            | target_file_bytes 0; it must be above 0
          {"tombstone_seconds": -1}                           | tombstone_seconds -1; it must be 0 or more
          {"max_files": "many"}                               | max_files "many"; it must be a whole number
          {"max_files": 3000000000}                           | max_files 3000000000; it must be a whole number
          {"superseded_share": "half"}                        | superseded_share "half"; it must be a number
          {"tiers": 3}                                        | has no [tiers]; its members are max_files, tier_runs
          [1]                                                 | is a JSON object, not [1]
          {"max_files": 3                                     | the compaction policy is not JSON
          """)
  void whatContradictsItselfIsRefused(String json, String says) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> CompactionPolicy.fromJson(json));
    assertEquals(KeylakeException.Kind.DEFINITION, refused.kind());
    assertTrue(refused.getMessage().contains(says), refused.getMessage());
  }
}
