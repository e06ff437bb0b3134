package io.keylake.pipelines.messages;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.pipelines.encodings.JsonEncoding;
import java.io.IOException;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The shapes of the rows of topics whose messages are rows as JSON: names of fields in their order,
 * and the kinds of values that rows have told of each.
 *
 * <pre>
 *   message ── the names and kinds of a row before it? ── yes ──▶ its bytes are the row
 *                                                      └─ no ───▶ a tree, the row written from it
 * </pre>
 *
 * <p>A message is looked through once, and nothing is made of it. Whatever would be written in
 * another way than it was sent, such as an escape, an exponent or a minus zero, takes the way
 * through the tree, and so does whatever is refused, so that both ways give the same rows. Spaces
 * between the members stay.
 */
final class KnownShapes {
  private static final int MOST_BYTES = 1 << 20; // far below what a parser refuses
  private static final int MOST_DIGITS = 18; // so many always fit a long
  private static final int LONGEST_FRACTION = 100;
  private static final int MOST_ZEROS = 5; // behind the point: more are written with an exponent

  private final boolean infers;
  private final Map<String, Shape> byTopic = new HashMap<>();

  private enum Kind {
    BOOLEAN,
    WHOLE,
    FRACTION,
    TEXT
  }

  /**
   * @param told the kinds of each field, in their order
   */
  private record Shape(
      List<String> names, SerializableString[] written, List<Set<Kind>> told, List<String> key) {}

  /**
   * @param infers whether rows tell the types of columns
   */
  KnownShapes(boolean infers) {
    this.infers = infers;
  }

  /** Keeps the shape of a row that was made of a tree, and has told what it tells. */
  void add(String topic, Envelope.Row row) {
    List<String> names =
        List.copyOf(row.row().properties().stream().map(Map.Entry::getKey).toList());
    Shape before = byTopic.get(topic);
    boolean isSame = before != null && before.names().equals(names);
    List<Set<Kind>> told =
        isSame && before != null
            ? before.told()
            : names.stream().map(name -> (Set<Kind>) EnumSet.noneOf(Kind.class)).toList();
    int field = 0;
    for (JsonNode value : row.row()) {
      Kind kind = kind(value);
      if (kind != null) {
        told.get(field).add(kind);
      }
      field++;
    }
    SerializableString[] written =
        names.stream().map(SerializedString::new).toArray(SerializableString[]::new);
    byTopic.put(topic, new Shape(names, written, told, List.copyOf(row.key())));
  }

  private static @Nullable Kind kind(JsonNode value) {
    return switch (value.getNodeType()) {
      case BOOLEAN -> Kind.BOOLEAN;
      case NUMBER ->
          !value.isIntegralNumber() ? Kind.FRACTION : value.canConvertToLong() ? Kind.WHOLE : null;
      case STRING -> Kind.TEXT;
      default -> null;
    };
  }

  /** The key of the rows with the known shape of a topic; null where none is known. */
  @Nullable List<String> key(String topic) {
    Shape shape = byTopic.get(topic);
    return shape == null ? null : shape.key();
  }

  /** The bytes of a message are a row of the known shape, as a tree would write it. */
  boolean has(String topic, byte[] message) {
    Shape shape = byTopic.get(topic);
    if (shape == null || message.length > MOST_BYTES || message.length < 2) {
      return false;
    }
    boolean isAscii = true;
    for (byte each : message) {
      if (each == '\\') {
        return false;
      }
      isAscii &= each >= 0;
    }
    if (message[0] != '{' || message[1] == 0) {
      return false; // another character set, perhaps
    }
    try (JsonParser json = JsonEncoding.MAPPER.getFactory().createParser(message)) {
      return json.nextToken() == JsonToken.START_OBJECT && has(shape, json, isAscii);
    } catch (IOException e) {
      return false; // the other way says why
    }
  }

  private boolean has(Shape shape, JsonParser json, boolean isAscii) throws IOException {
    for (int i = 0; i < shape.written().length; i++) {
      if (!json.nextFieldName(shape.written()[i])) {
        return false;
      }
      JsonToken token = json.nextToken();
      if (token != JsonToken.VALUE_NULL && !isKnown(token, json, shape.told().get(i), isAscii)) {
        return false;
      }
    }
    return json.nextToken() == JsonToken.END_OBJECT && json.nextToken() == null;
  }

  private boolean isKnown(JsonToken token, JsonParser json, Set<Kind> told, boolean isAscii)
      throws IOException {
    Kind kind =
        switch (token) {
          case VALUE_TRUE, VALUE_FALSE -> Kind.BOOLEAN;
          case VALUE_NUMBER_INT -> isPlainWhole(json) ? Kind.WHOLE : null;
          case VALUE_NUMBER_FLOAT -> isPlainFraction(json) ? Kind.FRACTION : null;
          case VALUE_STRING -> isAscii || isInBasicPlane(json) ? Kind.TEXT : null;
          default -> null;
        };
    return kind != null && (!infers || told.contains(kind));
  }

  private static boolean isPlainWhole(JsonParser json) throws IOException {
    int at = json.getTextOffset();
    char[] text = json.getTextCharacters();
    boolean isZero = json.getTextLength() == 2 && text[at] == '-' && text[at + 1] == '0';
    return json.getTextLength() <= MOST_DIGITS && !isZero;
  }

  /** A decimal number is written with the same digits and without an exponent. */
  private static boolean isPlainFraction(JsonParser json) throws IOException {
    char[] text = json.getTextCharacters();
    int begin = json.getTextOffset();
    int end = begin + json.getTextLength();
    boolean isZero = true;
    int zeros = -1; // the one before the point does not count
    for (int i = begin; i < end; i++) {
      if (text[i] == 'e' || text[i] == 'E') {
        return false;
      }
      zeros += isZero && text[i] == '0' ? 1 : 0;
      isZero &= text[i] < '1' || text[i] > '9';
    }
    boolean isMinusZero = isZero && text[begin] == '-';
    return !isMinusZero && zeros <= MOST_ZEROS && end - begin <= LONGEST_FRACTION;
  }

  /** No character of a text lies outside the basic plane: a tree writes those as escapes. */
  private static boolean isInBasicPlane(JsonParser json) throws IOException {
    char[] text = json.getTextCharacters(); // decoded, which refuses bytes that are no text
    int end = json.getTextOffset() + json.getTextLength();
    for (int i = json.getTextOffset(); i < end; i++) {
      if (Character.isSurrogate(text[i])) {
        return false;
      }
    }
    return true;
  }
}
