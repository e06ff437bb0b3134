package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.TimeUnit;

/** Business times and watermarks as text: a date is its midnight in UTC, a time needs a zone. */
public final class PointInTime {
  private static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");
  private static final Instant END = Instant.parse("+10000-01-01T00:00:00Z");

  private PointInTime() {}

  /**
   * @param name what the time is for, as an error calls it
   */
  public static Instant of(String name, String text) {
    Instant time;
    try {
      time = parsed(text.strip());
    } catch (DateTimeException e) {
      throw new KeylakeException(
          DEFINITION,
          "%s '%s' is no point in time; write 2026-11-01, or 2026-11-01T09:30:00+01:00"
              .formatted(name, text));
    }
    if (time.isBefore(FIRST) || !time.isBefore(END)) {
      throw new KeylakeException(
          DEFINITION, "%s '%s' lies outside of the years 1 to 9999".formatted(name, text));
    }
    return time;
  }

  private static Instant parsed(String text) {
    return text.length() <= "2026-11-01".length()
        ? LocalDate.parse(text).atStartOfDay().toInstant(ZoneOffset.UTC)
        : OffsetDateTime.parse(text.replace(' ', 'T')).toInstant();
  }

  /** Microseconds since 1970, also where a long has no room for the nanoseconds. */
  public static long micros(Instant time) {
    return TimeUnit.SECONDS.toMicros(time.getEpochSecond())
        + TimeUnit.NANOSECONDS.toMicros(time.getNano());
  }

  /** The moment that is so many microseconds after 1970. */
  public static Instant ofMicros(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }
}
