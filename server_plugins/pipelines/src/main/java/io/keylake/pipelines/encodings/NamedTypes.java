package io.keylake.pipelines.encodings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Types that Kafka Connect and Debezium store as numbers, bytes or structs and name in a schema:
 * dates as days, decimals as bytes, and so on.
 */
final class NamedTypes {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final int MOST_DIGITS = 38;
  private static final int MOST_SCALE = 20_000; // PostgreSQL has 16,383
  private static final long NANOS = 1_000_000_000L;
  private static final long NANOS_OF_A_DAY = 86_400 * NANOS;
  private static final long NANOS_OF_A_MICRO = 1_000;

  private static final DateTimeFormatter TIME =
      new DateTimeFormatterBuilder()
          .appendPattern("HH:mm:ss")
          .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true)
          .toFormatter();
  private static final DateTimeFormatter DATE_TIME =
      new DateTimeFormatterBuilder()
          .append(DateTimeFormatter.ISO_LOCAL_DATE)
          .appendLiteral('T')
          .append(TIME)
          .toFormatter();

  private static final Map<String, Conversion> BY_NAME =
      Map.ofEntries(
          Map.entry("io.debezium.time.Date", dates()),
          Map.entry("org.apache.kafka.connect.data.Date", dates()),
          Map.entry("io.debezium.time.Timestamp", moments(TimeUnit.MILLISECONDS, false)),
          Map.entry(
              "org.apache.kafka.connect.data.Timestamp", moments(TimeUnit.MILLISECONDS, false)),
          Map.entry("io.debezium.time.MicroTimestamp", moments(TimeUnit.MICROSECONDS, false)),
          Map.entry("io.debezium.time.NanoTimestamp", moments(TimeUnit.NANOSECONDS, false)),
          Map.entry(
              "io.debezium.time.ZonedTimestamp",
              new Conversion(ValueType.of("timestamptz"), NamedTypes::zoned)),
          Map.entry("io.debezium.time.Time", times(TimeUnit.MILLISECONDS)),
          Map.entry("org.apache.kafka.connect.data.Time", times(TimeUnit.MILLISECONDS)),
          Map.entry("io.debezium.time.MicroTime", times(TimeUnit.MICROSECONDS)),
          Map.entry("io.debezium.time.NanoTime", times(TimeUnit.NANOSECONDS)),
          Map.entry(
              "io.debezium.data.VariableScaleDecimal",
              new Conversion(ValueType.STRING, NamedTypes::scaled)),
          Map.entry("io.debezium.data.Uuid", Conversion.none(ValueType.of("uuid"))),
          Map.entry("io.debezium.data.geometry.Geometry", geometry()),
          Map.entry("io.debezium.data.geometry.Geography", geometry()),
          Map.entry("io.debezium.data.geometry.Point", geometry()));

  private NamedTypes() {}

  /** The type of that name; null where values need no conversion. */
  static @Nullable Conversion find(String name) {
    return BY_NAME.get(name);
  }

  static Conversion dates() {
    return new Conversion(
        ValueType.of("date"),
        value -> {
          try {
            return JSON.textNode(LocalDate.ofEpochDay(whole(value)).toString());
          } catch (DateTimeException e) {
            throw new BadMessage("%s is no number of days of a date".formatted(value));
          }
        });
  }

  static Conversion moments(TimeUnit unit, boolean hasZone) {
    String zone = hasZone ? "Z" : "";
    return new Conversion(
        ValueType.of(hasZone ? "timestamptz" : "timestamp"),
        value -> {
          long number = whole(value);
          long second = Math.floorDiv(number, unit.convert(1, TimeUnit.SECONDS));
          long part = Math.floorMod(number, unit.convert(1, TimeUnit.SECONDS));
          try {
            LocalDateTime moment =
                LocalDateTime.ofEpochSecond(second, (int) unit.toNanos(part), ZoneOffset.UTC);
            checkMicros(moment.getNano(), value);
            return JSON.textNode(DATE_TIME.format(moment) + zone);
          } catch (DateTimeException e) {
            throw new BadMessage("%d is no time in %s".formatted(number, unit));
          }
        });
  }

  static Conversion times(TimeUnit unit) {
    return new Conversion(
        ValueType.STRING,
        value -> {
          long number = whole(value);
          long nanos = unit.toNanos(number);
          if (unit.convert(nanos, TimeUnit.NANOSECONDS) != number) { // it is at its limit
            throw new BadMessage("%d is no time in %s".formatted(number, unit));
          }
          // MySQL's TIME is a span, which has a sign and more than 24 hours.
          return JSON.textNode(
              nanos < 0 || nanos >= NANOS_OF_A_DAY
                  ? span(nanos)
                  : TIME.format(LocalTime.ofNanoOfDay(nanos)));
        });
  }

  /** Bytes of a whole number, the most important one first, as digits with a point. */
  static Conversion decimals(int precision, int scale) {
    // Oracle has scales below zero, of hundreds and thousands, and above the precision.
    long digits = scale < 0 ? (long) precision - scale : Math.max(precision, scale);
    boolean fits = precision > 0 && digits <= MOST_DIGITS;
    return new Conversion(
        fits ? ValueType.decimal((int) digits, Math.max(scale, 0)) : ValueType.STRING,
        value -> digits(bytes(value), scale));
  }

  static JsonNode digits(byte[] unscaled, int scale) throws BadMessage {
    if (unscaled.length == 0) {
      throw new BadMessage("a decimal has no bytes");
    }
    if (Math.abs((long) scale) > MOST_SCALE) {
      throw new BadMessage(
          "a decimal has the scale %d, and the limit is %d".formatted(scale, MOST_SCALE));
    }
    return JSON.textNode(new BigDecimal(new BigInteger(unscaled), scale).toPlainString());
  }

  private static JsonNode scaled(JsonNode value) throws BadMessage {
    JsonNode scale = value.get("scale");
    JsonNode unscaled = value.get("value");
    if (scale == null || unscaled == null || !scale.isInt()) {
      throw new BadMessage("%s is no decimal with a scale".formatted(value));
    }
    return digits(bytes(unscaled), scale.intValue());
  }

  private static Conversion geometry() {
    return new Conversion(
        ValueType.BINARY,
        value -> {
          JsonNode wkb = value.get("wkb");
          if (wkb == null) {
            throw new BadMessage("%s is no geometry with 'wkb'".formatted(value));
          }
          return wkb;
        });
  }

  private static JsonNode zoned(JsonNode value) throws BadMessage {
    try {
      OffsetDateTime moment = OffsetDateTime.parse(value.asText());
      checkMicros(moment.getNano(), value);
      return JSON.textNode(
          DATE_TIME.format(moment.withOffsetSameInstant(ZoneOffset.UTC).toLocalDateTime()) + "Z");
    } catch (DateTimeException e) {
      throw new BadMessage("%s is no timestamp with a zone".formatted(value));
    }
  }

  /** Values are never changed to fit: columns of time hold microseconds. */
  private static void checkMicros(long nanos, JsonNode value) throws BadMessage {
    if (nanos % NANOS_OF_A_MICRO != 0) {
      throw new BadMessage(
          "%s has digits beyond microseconds, which no column of time holds".formatted(value));
    }
  }

  private static String span(long nanos) {
    long seconds = Math.abs(nanos) / NANOS;
    String whole =
        "%s%02d:%02d:%02d"
            .formatted(nanos < 0 ? "-" : "", seconds / 3600, seconds / 60 % 60, seconds % 60);
    long part = Math.abs(nanos) % NANOS;
    if (part == 0) {
      return whole;
    }
    return part % NANOS_OF_A_MICRO == 0
        ? whole + ".%06d".formatted(part / NANOS_OF_A_MICRO)
        : whole + ".%09d".formatted(part);
  }

  private static long whole(JsonNode value) throws BadMessage {
    if (!value.canConvertToLong() || !value.isIntegralNumber()) {
      throw new BadMessage("%s is no whole number, and its schema says it is".formatted(value));
    }
    return value.longValue();
  }

  private static byte[] bytes(JsonNode value) throws BadMessage {
    try {
      byte[] found = value.binaryValue();
      if (found != null) {
        return found;
      }
    } catch (IOException e) {
      // said below
    }
    throw new BadMessage("%s is no base64, and its schema says it is bytes".formatted(value));
  }
}
