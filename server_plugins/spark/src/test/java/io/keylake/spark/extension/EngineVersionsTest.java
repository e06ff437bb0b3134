package io.keylake.spark.extension;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EngineVersionsTest {
  @Test
  void theOnesItWasBuiltWith() {
    assertDoesNotThrow(() -> EngineVersions.check());
  }

  @ParameterizedTest
  @ValueSource(strings = {"4.1.0", "4.1.17", "4.1.3-vendor-2", "4.1-SNAPSHOT"})
  void anyPatchOfTheMinor(String running) {
    assertDoesNotThrow(() -> EngineVersions.check("Spark", running, "4.1.3"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"4.2.0", "4.10.0", "4.0.5", "3.5.9", "5"})
  void noOtherMinor(String running) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> EngineVersions.check("Spark", running, "4.1.3"));
    assertTrue(
        refused.getMessage().contains("runs on Spark 4.1, and this server has Spark " + running));
  }
}
