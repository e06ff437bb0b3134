package io.keylake.pipelines.messages;

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
import org.jspecify.annotations.Nullable;

/**
 * The value that Debezium writes in place of one that the database did not log, since it had not
 * changed: a text, or the bytes of the text in the form that the column has.
 */
final class NotLogged {
  private static final String USUAL = "__debezium_unavailable_value";
  private static final String HEX = "hex:"; // before the digits of a placeholder of bytes

  private final String text;
  private final byte[] bytes;
  // Bytes as base64, base64-url-safe and hex; a uuid; an hstore as JSON in a text.
  private final Set<String> texts;

  private NotLogged(String text, byte[] bytes) {
    this.text = text;
    this.bytes = bytes;
    this.texts =
        Stream.of(
                text,
                Base64.getEncoder().encodeToString(bytes),
                Base64.getUrlEncoder().encodeToString(bytes),
                HexFormat.of().formatHex(bytes),
                UUID.nameUUIDFromBytes(bytes).toString(),
                "{\"" + text + "\":\"" + text + "\"}")
            .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * A placeholder as the connector has it in {@code unavailable.value.placeholder}.
   *
   * @param said null for the usual one
   */
  static NotLogged of(@Nullable String said) {
    String placeholder = said == null ? USUAL : said;
    byte[] bytes =
        placeholder.startsWith(HEX)
            ? HexFormat.of().parseHex(placeholder.substring(HEX.length()))
            : placeholder.getBytes(StandardCharsets.UTF_8);
    return new NotLogged(new String(bytes, StandardCharsets.UTF_8), bytes);
  }

  /** A value stands for one that is not there; of a list or an object all parts do. */
  boolean is(JsonNode value) {
    if (value.isTextual()) {
      return texts.contains(value.textValue());
    }
    if (value.isObject()) {
      JsonNode only = value.get(text);
      return only != null && value.size() == 1 && is(only);
    }
    if (!value.isArray() || value.isEmpty()) {
      return false;
    }
    return StreamSupport.stream(value.spliterator(), false).allMatch(this::is) || isBytes(value);
  }

  /** A number for each byte: days, where they are dates. */
  private boolean isBytes(JsonNode list) {
    if (list.size() != bytes.length) {
      return false;
    }
    for (int i = 0; i < bytes.length; i++) {
      JsonNode each = list.get(i);
      boolean isByte =
          each.isNumber()
              ? each.doubleValue() == bytes[i]
              : each.isTextual()
                  && each.textValue().equals(LocalDate.ofEpochDay(bytes[i]).toString());
      if (!isByte) {
        return false;
      }
    }
    return true;
  }
}
