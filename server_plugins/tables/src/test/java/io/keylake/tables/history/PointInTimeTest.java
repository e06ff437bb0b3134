package io.keylake.tables.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PointInTimeTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "0001-01-01T00:00:00Z",
        "1677-09-21T00:12:43.145224Z",
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00.000001Z",
        "2262-04-11T23:47:16.854776Z",
        "9999-12-31T23:59:59.999999Z"
      })
  void microsecondsGoThereAndBack(String text) {
    Instant time = PointInTime.of("time", text);
    assertEquals(Instant.parse(text), time);
    assertEquals(time, PointInTime.ofMicros(PointInTime.micros(time)));
  }

  @Test
  void aDateIsItsMidnight() {
    assertEquals(Instant.parse("9999-12-31T00:00:00Z"), PointInTime.of("time", "9999-12-31"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"+10000-01-01T00:00:00Z", "0000-12-31", "-0005-01-01T00:00:00Z"})
  void otherYearsAreRefused(String text) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> PointInTime.of("watermark", text));
    assertTrue(
        refused.getMessage().contains("lies outside of the years 1 to 9999"), refused.getMessage());
  }
}
