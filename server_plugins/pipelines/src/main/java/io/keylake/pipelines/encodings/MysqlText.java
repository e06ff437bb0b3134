package io.keylake.pipelines.encodings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Values that are the texts MySQL shows, by the types that it names: {@code decimal(10,2)}. */
public final class MysqlText {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final Pattern TYPE =
      Pattern.compile(
          "([a-z]+)\\s*(?:\\((\\d{1,9})\\s*(?:,\\s*(\\d{1,9})\\s*)?\\))?.*", Pattern.DOTALL);
  private static final String ZERO_DATE = "0000-00-00";

  private MysqlText() {}

  public static Conversion of(String declared) {
    String text = declared.strip().toLowerCase(Locale.ROOT);
    Matcher parts = TYPE.matcher(text);
    if (!parts.matches()) {
      return Conversion.none(ValueType.STRING);
    }
    boolean isUnsigned = text.contains("unsigned") || text.contains("zerofill");
    return switch (parts.group(1)) {
      case "tinyint", "smallint", "mediumint", "year" -> whole("int");
      case "int", "integer" -> whole(isUnsigned ? "long" : "int");
      case "bigint" -> isUnsigned ? whole("decimal(20, 0)") : whole("long");
      case "bool", "boolean" -> whole("int");
      case "float" -> number("float");
      case "double", "real" -> number("double");
      case "decimal", "numeric", "dec", "fixed" -> {
        int precision = parts.group(2) == null ? 10 : Integer.parseInt(parts.group(2));
        int scale = parts.group(3) == null ? 0 : Integer.parseInt(parts.group(3));
        // More digits than Iceberg has stay text.
        boolean isReadable = parts.group(2) != null || text.indexOf('(') < 0;
        boolean fits = isReadable && precision > 0 && precision <= 38 && scale <= precision;
        yield Conversion.none(fits ? ValueType.decimal(precision, scale) : ValueType.STRING);
      }
      case "date" -> new Conversion(ValueType.of("date"), MysqlText::moment);
      // Of a timestamp, too: its text has no zone, but is in that of Canal's session.
      case "datetime", "timestamp" -> new Conversion(ValueType.of("timestamp"), MysqlText::moment);
      case "binary",
          "varbinary",
          "blob",
          "tinyblob",
          "mediumblob",
          "longblob",
          "geometry",
          "point" ->
          // Canal sends each byte as the sign of that number.
          new Conversion(
              ValueType.BINARY,
              value -> JSON.binaryNode(value.textValue().getBytes(StandardCharsets.ISO_8859_1)));
      default -> Conversion.none(ValueType.STRING);
    };
  }

  private static Conversion whole(String type) {
    return new Conversion(
        ValueType.of(type),
        value -> {
          try {
            BigInteger number = new BigInteger(value.textValue().strip());
            return number.bitLength() < Long.SIZE
                ? JSON.numberNode(number.longValue())
                : JSON.textNode(number.toString());
          } catch (NumberFormatException e) {
            throw new BadMessage(
                "%s is no whole number, and its mysqlType says it is".formatted(value));
          }
        });
  }

  private static Conversion number(String type) {
    return new Conversion(
        ValueType.of(type),
        value -> {
          try {
            return JSON.numberNode(new BigDecimal(value.textValue().strip()));
          } catch (NumberFormatException e) {
            throw new BadMessage("%s is no number, and its mysqlType says it is".formatted(value));
          }
        });
  }

  /** Dates that no calendar has become null. */
  private static JsonNode moment(JsonNode value) {
    String text = value.textValue().strip();
    if (text.startsWith(ZERO_DATE)) {
      return JSON.nullNode();
    }
    return JSON.textNode(text.replace(' ', 'T'));
  }
}
