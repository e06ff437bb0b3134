package io.keylake.tables.spec;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SpecPropertiesTest {
  @ParameterizedTest
  @CsvSource({
    "orderin, ordering",
    "Ordering_, ordering",
    "version, versions",
    "verions, versions",
    "keys, key",
    "group, groups",
    "hashs, hash",
    "reducer.n, reduce.n",
    "reduces.Clicks, reduce.Clicks",
    "reducers.n, reduce.n",
    "column_groups.a, column_group.a",
    "column-group.a, column_group.a",
    "colum_group.a, column_group.a",
    "column_group_docs.a, column_group_doc.a"
  })
  void nearMissesOfWordsAreRefused(String property, String meant) {
    String said =
        assertThrows(KeylakeException.class, () -> SpecProperties.checkSpelling(property))
            .getMessage();
    assertTrue(said.contains("'" + property + "'"), said);
    assertTrue(said.contains("Did you mean '" + meant + "'?"), said);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "key",
        "ordering",
        "versions",
        "groups",
        "hash",
        "reduce.n",
        "column_group.a",
        "column_group_doc.a",
        "owner",
        "comment",
        "team.reduce",
        "produce.rate",
        "order",
        "format-version",
        "write.target-file-size-bytes",
        "keylake.compaction"
      })
  void wordsAndPropertiesOfUsersAreNot(String property) {
    assertDoesNotThrow(() -> SpecProperties.checkSpelling(property));
  }
}
