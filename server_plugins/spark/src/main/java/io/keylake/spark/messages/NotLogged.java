package io.keylake.spark.messages;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * What Debezium writes in place of a value that the database did not log, since it had not changed:
 * a text, or the bytes of the text in the form that the column has.
 */
final class NotLogged {
  private static final String TEXT = "__debezium_unavailable_value";
  private static final byte[] BYTES = TEXT.getBytes(StandardCharsets.US_ASCII);
  // Bytes as base64, base64-url-safe and hex; a uuid; an hstore as JSON in a text.
  private static final Set<String> TEXTS =
      Stream.of(
              TEXT,
              Base64.getEncoder().encodeToString(BYTES),
              Base64.getUrlEncoder().encodeToString(BYTES),
              HexFormat.of().formatHex(BYTES),
              UUID.nameUUIDFromBytes(BYTES).toString(),
              "{\"" + TEXT + "\":\"" + TEXT + "\"}")
          .collect(Collectors.toUnmodifiableSet());

  private NotLogged() {}

  /** Whether a value stands for one that is not there; of a list or an object all parts do. */
  static boolean is(JsonNode value) {
    if (value.isTextual()) {
      return TEXTS.contains(value.textValue());
    }
    if (value.isObject()) {
      JsonNode only = value.get(TEXT);
      return only != null && value.size() == 1 && is(only);
    }
    if (!value.isArray() || value.isEmpty()) {
      return false;
    }
    return StreamSupport.stream(value.spliterator(), false).allMatch(NotLogged::is)
        || isBytes(value);
  }

  /** A number for each byte: days, where they are dates. */
  private static boolean isBytes(JsonNode list) {
    if (list.size() != BYTES.length) {
      return false;
    }
    for (int i = 0; i < BYTES.length; i++) {
      JsonNode each = list.get(i);
      boolean isByte =
          each.isNumber()
              ? each.doubleValue() == BYTES[i]
              : each.isTextual()
                  && each.textValue().equals(LocalDate.ofEpochDay(BYTES[i]).toString());
      if (!isByte) {
        return false;
      }
    }
    return true;
  }
}
