package io.keylake.pipelines.multitable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.YearMonth;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Random;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.types.Decimal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Short ways of reading common texts, beside Java's own readers, and texts that are no values. */
class TextValuesTest {
  private static final int CASES = 20_000;
  private final Random random = new Random(36);

  @Test
  void decimalsAreThoseOfJava() {
    for (int i = 0; i < CASES; i++) {
      int precision = 1 + random.nextInt(38);
      int scale = random.nextInt(precision + 1);
      Type type = Types.DecimalType.of(precision, scale);
      String text = number(random.nextInt(14), random.nextInt(14));
      BigDecimal said = new BigDecimal(text);
      Decimal expected = null;
      if (said.signum() == 0
          || said.stripTrailingZeros().scale() <= scale
              && said.precision() - said.scale() <= precision - scale) {
        BigDecimal scaled = said.setScale(scale, RoundingMode.UNNECESSARY);
        expected = Decimal.apply(scaled, precision, scale);
      }
      assertEquals(expected, TextValues.value(text, type), text + " as " + type);
    }
  }

  @Test
  void fractionsAreThoseOfJava() {
    for (int i = 0; i < CASES; i++) {
      double each = Double.longBitsToDouble(random.nextLong());
      if (Double.isFinite(each)) {
        assertEquals(each, TextValues.value(Double.toString(each), Types.DoubleType.get()));
        assertEquals(
            each, TextValues.value(new BigDecimal(each).toString(), Types.DoubleType.get()));
      }
    }
  }

  @Test
  void datesAndTimesAreThoseOfJava() {
    for (int i = 0; i < CASES; i++) {
      String day =
          "%04d-%02d-%02d"
              .formatted(random.nextInt(10_000), random.nextInt(14), random.nextInt(33));
      String clock =
          "%02d:%02d:%02d.%06d"
              .formatted(
                  random.nextInt(25),
                  random.nextInt(61),
                  random.nextInt(61),
                  random.nextInt(1_000_000));
      assertEquals(days(day), TextValues.value(day, Types.DateType.get()), day);
      String time = day + "T" + clock;
      assertEquals(micros(time), TextValues.value(time, Types.TimestampType.withoutZone()), time);
      assertEquals(micros(time), TextValues.value(time + "Z", Types.TimestampType.withZone()));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1f, double",
    "0x1p3, double",
    "'', double",
    "-, double",
    "1e400, double",
    "1e-400, double",
    "'NaN ', double",
    "9007199254740993, double",
    "16777217, float",
    "1.5.5, 'decimal(9, 2)'",
    "'', 'decimal(9, 2)'",
    ".,  'decimal(9, 2)'",
    "1e400, 'decimal(9, 2)'",
    "12345678.25, 'decimal(9, 2)'",
    "0.125, 'decimal(9, 2)'",
    "2026-02-30, date",
    "2026-1-1, date",
    "2026-01-31T24:00:00.000000, timestamp",
    "2026-01-31T12:00:00.0000001, timestamp",
    "2026-01-31T12:00:00.000000Z, timestamp",
    "2026-01-31T12:00:00.000000, timestamptz",
  })
  void whatIsNoValue(String text, String type) {
    assertNull(TextValues.value(text, Types.fromPrimitiveString(type)));
  }

  @ParameterizedTest
  @CsvSource({
    "2026-01-31 12:00:00.5, timestamp",
    "2026-01-31T12:00, timestamp",
    "2026-01-31T12:00:00.123456000, timestamp",
    "2026-01-31T12:00:00.5Z, timestamptz",
    "2026-01-31T13:00:00.500000+01:00, timestamptz",
    "+12.50, 'decimal(9, 2)'",
    "1.25e1, 'decimal(9, 2)'",
    "000000000000000000000000000012.5, 'decimal(9, 2)'",
    "12.5000000000, 'decimal(9, 2)'",
    "-Infinity, float",
  })
  void whatIsRareAndAValue(String text, String type) {
    assertNotNull(TextValues.value(text, Types.fromPrimitiveString(type)));
  }

  private String number(int before, int behind) {
    StringBuilder text = new StringBuilder(random.nextBoolean() ? "-" : "");
    random.ints(1 + before, 0, 10).forEach(text::append);
    if (behind > 0) {
      text.append('.');
      random.ints(behind, 0, random.nextInt(3) == 0 ? 1 : 10).forEach(text::append);
    }
    return text.toString();
  }

  private static Integer days(String text) {
    List<Integer> parts = List.of(text.split("-")).stream().map(Integer::parseInt).toList();
    boolean isDay =
        parts.get(1) >= 1
            && parts.get(1) <= 12
            && parts.get(2) >= 1
            && parts.get(2) <= YearMonth.of(parts.get(0), parts.get(1)).lengthOfMonth();
    return isDay ? (Integer) (int) LocalDate.parse(text).toEpochDay() : null;
  }

  private static Long micros(String text) {
    try {
      LocalDateTime time = LocalDateTime.parse(text);
      return time.toEpochSecond(ZoneOffset.UTC) * 1_000_000 + time.getNano() / 1000;
    } catch (DateTimeException e) {
      return null;
    }
  }
}
