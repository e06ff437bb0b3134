package io.keylake.spark.write.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is refused of the options of a write, whatever the table. */
class WriteOptionsTest {
  @ParameterizedTest
  @ValueSource(strings = {"adopts", "adopts_at"})
  void anAdoptionSaysTheCommitAndWhereItsBranchStood(String given) {
    KeylakeException refused =
        assertThrows(
            KeylakeException.class,
            () -> WriteOptions.of(Map.of(given, "1"), WriteOptions.Verb.UPDATE));
    assertEquals(KeylakeException.Kind.BAD_ROWS, refused.kind());
    assertTrue(refused.getMessage().contains("only %s is given".formatted(given)));
  }
}
