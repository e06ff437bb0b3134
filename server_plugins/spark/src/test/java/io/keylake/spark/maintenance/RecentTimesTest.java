package io.keylake.spark.maintenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class RecentTimesTest {
  @Test
  void whatWasSetLongAgoIsForgotten() {
    RecentTimes<String> times = new RecentTimes<>(3);
    for (int number = 0; number < 10; number++) {
      times.set("t" + number, Instant.ofEpochSecond(number));
      times.set("t0", Instant.ofEpochSecond(100 + number));
    }
    assertEquals(3, times.size());
    assertEquals(Instant.ofEpochSecond(109), times.get("t0"));
    assertEquals(Instant.ofEpochSecond(9), times.get("t9"));
    assertNull(times.get("t7"));
  }
}
