package io.keylake.pipelines.multitable;

import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Base64;
import java.util.Locale;
import java.util.Set;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.DecimalType;
import org.apache.iceberg.types.Types.TimestampType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * Values from their texts, as Spark keeps those of a type. A text means one value exactly, or none:
 * nothing is rounded, cut or wrapped, but for the nearest binary fraction of a decimal one.
 */
final class TextValues {
  static final int LONGEST_SHOWN = 100;
  private static final int LENGTH_OF_UUID = 36;
  private static final int LENGTH_OF_DATE = 10;
  private static final int DIGITS_OF_A_LONG = 18; // so many always fit
  private static final int NANOS_PER_MICRO = 1000;
  private static final long MICROS_PER_SECOND = 1_000_000;
  private static final int TEN = 10;
  private static final double EXACT = 1 << 24; // below, each whole number is a fraction, too
  private static final Set<String> SPECIAL = Set.of("NaN", "Infinity", "-Infinity");
  private static final String SIGNS = "-+.eE";

  private TextValues() {}

  /** The value that a text says; null where it says none of the type. */
  static @Nullable Object value(String text, Type type) {
    try {
      return switch (type.typeId()) {
        case BOOLEAN -> text.equals("true") ? Boolean.TRUE : text.equals("false") ? false : null;
        case INTEGER -> Math.toIntExact(whole(text));
        case LONG -> whole(text);
        case FLOAT -> fraction(text, true);
        case DOUBLE -> fraction(text, false);
        case DECIMAL -> decimal(text, (DecimalType) type);
        case DATE -> Math.toIntExact(day(text).toEpochDay());
        case TIMESTAMP -> micros(text, ((TimestampType) type).shouldAdjustToUTC());
        case STRING -> isWellFormed(text) ? UTF8String.fromString(text) : null;
        case UUID -> uuid(text);
        case BINARY, FIXED -> Base64.getDecoder().decode(text);
        default -> null;
      };
    } catch (ArithmeticException | IllegalArgumentException | DateTimeException e) {
      return null;
    }
  }

  /**
   * Half of a character outside of the basic plane is no text, and would become a question mark.
   */
  private static boolean isWellFormed(String text) {
    for (int i = 0; i < text.length(); i++) {
      char each = text.charAt(i);
      if (Character.isSurrogate(each)) {
        i++; // the other half
        if (i == text.length() || !Character.isSurrogatePair(each, text.charAt(i))) {
          return false;
        }
      }
    }
    return true;
  }

  private static long whole(String text) {
    if (isShortWhole(text)) { // as nearly all are
      return Long.parseLong(text);
    }
    BigDecimal number = new BigDecimal(text);
    checkDigits(number, Long.toString(Long.MAX_VALUE).length(), 0);
    return number.signum() == 0 ? 0 : number.longValueExact();
  }

  /** Digits and nothing else but a minus, so few that a long holds them. */
  private static boolean isShortWhole(String text) {
    int from = text.startsWith("-") ? 1 : 0;
    return text.length() > from && text.length() <= DIGITS_OF_A_LONG && isDigits(text, from);
  }

  private static boolean isDigits(String text, int from) {
    for (int i = from; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return false;
      }
    }
    return true;
  }

  /** Exponents make numbers of so many digits that they are not to be written out. */
  private static void checkDigits(BigDecimal number, int before, int behind) {
    long digits = (long) number.precision() - number.scale();
    boolean fits = digits <= before && number.stripTrailingZeros().scale() <= behind;
    if (number.signum() != 0 && !fits) {
      throw new ArithmeticException();
    }
  }

  private static Decimal decimal(String text, DecimalType type) {
    Decimal shortOne = shortDecimal(text, type);
    if (shortOne != null) { // as nearly all are
      return shortOne;
    }
    BigDecimal number = new BigDecimal(text);
    checkDigits(number, type.precision() - type.scale(), type.scale());
    BigDecimal scaled = (number.signum() == 0 ? BigDecimal.ZERO : number).setScale(type.scale());
    return Decimal.apply(scaled, type.precision(), type.scale());
  }

  /** A minus, digits and a point, so few that a long holds them; null for others. */
  private static @Nullable Decimal shortDecimal(String text, DecimalType type) {
    int from = text.startsWith("-") ? 1 : 0;
    int point = -1;
    long digits = 0;
    for (int i = from; i < text.length(); i++) {
      char each = text.charAt(i);
      if (each == '.' && point < 0) {
        point = i;
      } else if (each >= '0' && each <= '9') {
        digits = digits * TEN + (each - '0');
      } else {
        return null;
      }
    }
    int whole = (point < 0 ? text.length() : point) - from;
    int behind = point < 0 ? 0 : text.length() - point - 1;
    boolean fits = whole <= type.precision() - type.scale() && behind <= type.scale();
    if (!fits || whole + behind == 0 || whole + type.scale() > DIGITS_OF_A_LONG) {
      return null;
    }
    for (int i = behind; i < type.scale(); i++) {
      digits *= TEN;
    }
    return Decimal.apply(from == 0 ? digits : -digits, type.precision(), type.scale());
  }

  /** A whole number has to be that of the fraction; other decimals are near to one. */
  private static @Nullable Object fraction(String text, boolean isFloat) {
    boolean isNumber = isOfNumbers(text);
    if (!isNumber && !SPECIAL.contains(text)) {
      return null;
    }
    double nearest = isFloat ? Float.parseFloat(text) : Double.parseDouble(text);
    if (isNumber) {
      if (!Double.isFinite(nearest)) {
        return null;
      }
      if (nearest == 0 && new BigDecimal(text).signum() != 0) {
        return null;
      }
      boolean isWhole = isDigits(text, text.startsWith("-") ? 1 : 0);
      if (isWhole && Math.abs(nearest) >= EXACT && !isSame(text, nearest, isFloat)) {
        return null;
      }
    }
    return isFloat ? (Object) (float) nearest : (Object) nearest;
  }

  /** A text has the signs of decimal numbers alone: Java's own reader takes more than these. */
  private static boolean isOfNumbers(String text) {
    for (int i = 0; i < text.length(); i++) {
      char each = text.charAt(i);
      if ((each < '0' || each > '9') && SIGNS.indexOf(each) < 0) {
        return false;
      }
    }
    return true;
  }

  private static boolean isSame(String text, double nearest, boolean isFloat) {
    BigDecimal said = new BigDecimal(text);
    String shown = isFloat ? Float.toString((float) nearest) : Double.toString(nearest);
    return new BigDecimal(nearest).compareTo(said) == 0
        || new BigDecimal(shown).compareTo(said) == 0;
  }

  private static LocalDate day(String text) {
    return isShaped(text, "0000-00-00") ? shapedDay(text) : LocalDate.parse(text);
  }

  /** The day that a text of a known shape begins with. */
  private static LocalDate shapedDay(String text) {
    return LocalDate.of(number(text, 0, 4), number(text, 5, 7), number(text, 8, LENGTH_OF_DATE));
  }

  /** A text has digits where a shape has zeros, and else the same signs. */
  private static boolean isShaped(String text, String shape) {
    if (text.length() != shape.length()) {
      return false;
    }
    for (int i = 0; i < shape.length(); i++) {
      char each = text.charAt(i);
      boolean isDigit = each >= '0' && each <= '9';
      if (shape.charAt(i) == '0' ? !isDigit : each != shape.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /** The digits from a place up to another. */
  private static int number(String text, int from, int to) {
    int number = 0;
    for (int i = from; i < to; i++) {
      number = number * TEN + (text.charAt(i) - '0');
    }
    return number;
  }

  private static @Nullable Object micros(String text, boolean hasZone) {
    String shape = hasZone ? "0000-00-00T00:00:00.000000Z" : "0000-00-00T00:00:00.000000";
    if (isShaped(text, shape)) {
      LocalTime time =
          LocalTime.of(number(text, 11, 13), number(text, 14, 16), number(text, 17, 19));
      long seconds = shapedDay(text).toEpochSecond(time, ZoneOffset.UTC);
      return seconds * MICROS_PER_SECOND + number(text, 20, 26);
    }
    String iso =
        text.length() > LENGTH_OF_DATE && text.charAt(LENGTH_OF_DATE) == ' '
            ? text.substring(0, LENGTH_OF_DATE) + "T" + text.substring(LENGTH_OF_DATE + 1)
            : text;
    Instant time =
        hasZone
            ? OffsetDateTime.parse(iso).toInstant()
            : LocalDateTime.parse(iso).toInstant(ZoneOffset.UTC);
    if (time.getNano() % NANOS_PER_MICRO != 0) {
      return null;
    }
    long seconds = Math.multiplyExact(time.getEpochSecond(), MICROS_PER_SECOND);
    return Math.addExact(seconds, (long) time.getNano() / NANOS_PER_MICRO);
  }

  /** The uuid in lower case, where its order is that of its bytes. */
  private static @Nullable Object uuid(String text) {
    java.util.UUID.fromString(text); // or it is none
    return text.length() == LENGTH_OF_UUID
        ? UTF8String.fromString(text.toLowerCase(Locale.ROOT))
        : null;
  }

  /** A text for sentences. */
  static String quoted(String text) {
    return "'" + shortened(text, LONGEST_SHOWN) + "'";
  }

  static String shortened(String text, int longest) {
    return text.length() <= longest ? text : text.substring(0, longest) + "...";
  }
}
