package io.keylake.spark.many;

import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Base64;
import java.util.Locale;
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

  private TextValues() {}

  /** Null where the text is no value of the type. */
  static @Nullable Object value(String text, Type type) {
    try {
      return switch (type.typeId()) {
        case BOOLEAN -> text.equals("true") ? Boolean.TRUE : text.equals("false") ? false : null;
        case INTEGER -> Math.toIntExact(whole(text));
        case LONG -> whole(text);
        case FLOAT -> fraction(text, true);
        case DOUBLE -> fraction(text, false);
        case DECIMAL -> decimal(text, (DecimalType) type);
        case DATE -> Math.toIntExact(LocalDate.parse(text).toEpochDay());
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
    BigDecimal number = new BigDecimal(text);
    checkDigits(number, type.precision() - type.scale(), type.scale());
    BigDecimal scaled = (number.signum() == 0 ? BigDecimal.ZERO : number).setScale(type.scale());
    return Decimal.apply(scaled, type.precision(), type.scale());
  }

  /** A whole number has to be that of the fraction; other decimals are near to one. */
  private static @Nullable Object fraction(String text, boolean isFloat) {
    switch (text) {
      case "NaN", "Infinity", "-Infinity" -> {
        double special = Double.parseDouble(text);
        return isFloat ? (Object) (float) special : (Object) special;
      }
      default -> {}
    }
    BigDecimal said = new BigDecimal(text);
    double nearest = isFloat ? Float.parseFloat(text) : Double.parseDouble(text);
    if (!Double.isFinite(nearest) || (nearest == 0 && said.signum() != 0)) {
      return null;
    }
    boolean isWhole = text.chars().allMatch(each -> each == '-' || Character.isDigit(each));
    if (isWhole && !isSame(said, nearest, isFloat)) {
      return null;
    }
    return isFloat ? (Object) (float) nearest : (Object) nearest;
  }

  private static boolean isSame(BigDecimal said, double nearest, boolean isFloat) {
    String shown = isFloat ? Float.toString((float) nearest) : Double.toString(nearest);
    return new BigDecimal(nearest).compareTo(said) == 0
        || new BigDecimal(shown).compareTo(said) == 0;
  }

  private static @Nullable Object micros(String text, boolean hasZone) {
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

  /** In lower case its order is that of its bytes. */
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
