package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;

/** Business times and watermarks as text: a date is its midnight in UTC, a time needs a zone. */
public final class PointInTime {
  private PointInTime() {}

  /**
   * @param name what the time is for, as an error calls it
   */
  public static Instant of(String name, String text) {
    String said = text.strip();
    try {
      return said.length() <= "2026-11-01".length()
          ? LocalDate.parse(said).atStartOfDay().toInstant(ZoneOffset.UTC)
          : OffsetDateTime.parse(said.replace(' ', 'T')).toInstant();
    } catch (DateTimeException e) {
      throw new KeylakeException(
          DEFINITION,
          "%s '%s' is no point in time; write 2026-11-01, or 2026-11-01T09:30:00+01:00"
              .formatted(name, text));
    }
  }

  /** Microseconds since 1970. */
  public static long micros(Instant time) {
    return ChronoUnit.MICROS.between(Instant.EPOCH, time);
  }

  /** The moment that is so many microseconds after 1970. */
  public static Instant ofMicros(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }
}
