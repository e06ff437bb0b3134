package io.keylake.pipelines.encodings;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * JSON, with or without the schema that Kafka Connect sends beside it: {@code {"schema": ...,
 * "payload": ...}}. Schemas are the same in nearly all messages, and larger than what they are
 * about: their bytes are compared with those of the last ones, and only new ones are read.
 */
public final class JsonEncoding implements Encoding {
  private static final int MOST_SCHEMAS = 64;
  private static final String TRAILING = "it is no JSON: it goes on behind its value";
  private static final Pattern TWICE = Pattern.compile("Duplicate field '(.*)' for");
  private static final String PLACE =
      " \\((?:start marker|for \\w+ starting) at \\[Source.*"; // none is shown

  public static final JsonMapper MAPPER =
      JsonMapper.builder(new JsonFactory())
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  private static final ObjectReader INSIDE =
      MAPPER.reader().without(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private final Deque<Known> known = new ArrayDeque<>();

  private record Known(byte[] text, Conversion conversion) {
    boolean is(byte[] bytes, int from, int to) {
      return Arrays.equals(text, 0, text.length, bytes, from, to);
    }
  }

  @Override
  public Document read(byte[] bytes) throws BadMessage {
    try {
      Document withSchema = mayHaveSchema(bytes) ? withSchema(bytes) : null;
      if (withSchema != null) {
        return withSchema;
      }
      JsonNode value = MAPPER.readTree(bytes);
      if (value == null || value.isMissingNode()) {
        throw new BadMessage("it is empty");
      }
      return new Document(value, null);
    } catch (MismatchedInputException e) {
      Matcher twice = TWICE.matcher(e.getOriginalMessage());
      throw new BadMessage(twice.find() ? "it has '%s' twice".formatted(twice.group(1)) : TRAILING);
    } catch (IOException e) {
      String why =
          e instanceof com.fasterxml.jackson.core.JacksonException said
              ? said.getOriginalMessage()
              : "";
      throw new BadMessage(
          "it is no JSON: "
              + why.lines().findFirst().orElse("it cannot be parsed").replaceFirst(PLACE, ""));
    } catch (NumberFormatException e) {
      throw new BadMessage("it has a number whose exponent is too large");
    }
  }

  /** The first name in the bytes may be {@code schema} or {@code payload}. */
  private static boolean mayHaveSchema(byte[] bytes) {
    int quote = 0;
    while (quote < bytes.length && bytes[quote] != '"') {
      quote++;
    }
    return quote + 1 < bytes.length && (bytes[quote + 1] == 's' || bytes[quote + 1] == 'p');
  }

  /**
   * The document inside of an envelope with a schema; null where that has not exactly these two
   * members.
   */
  private @Nullable Document withSchema(byte[] bytes) throws IOException, BadMessage {
    Conversion conversion = null;
    JsonNode payload = null;
    boolean hasNone = false; // as Kafka Connect writes values that have no schema
    try (JsonParser parser = MAPPER.createParser(bytes)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return null;
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String name = parser.currentName();
        JsonToken value = parser.nextToken();
        if (name.equals("schema") && value == JsonToken.START_OBJECT) {
          int from = (int) parser.currentTokenLocation().getByteOffset();
          parser.skipChildren();
          conversion = conversion(bytes, from, (int) parser.currentLocation().getByteOffset());
        } else if (name.equals("schema") && value == JsonToken.VALUE_NULL) {
          hasNone = true;
        } else if (name.equals("payload")) {
          if (payload != null) {
            throw new BadMessage("it has 'payload' twice");
          }
          payload = INSIDE.readTree(parser);
        } else {
          return null;
        }
      }
      if (parser.nextToken() != null) {
        throw new BadMessage(TRAILING);
      }
    }
    if (payload == null || (conversion == null && !(hasNone && payload.isObject()))) {
      return null;
    }
    if (conversion == null) {
      return new Document(payload, null);
    }
    return new Document(conversion.of(payload), conversion.type());
  }

  private Conversion conversion(byte[] bytes, int from, int to) throws IOException, BadMessage {
    for (Known each : known) {
      if (each.is(bytes, from, to)) {
        return each.conversion;
      }
    }
    byte[] text = Arrays.copyOfRange(bytes, from, to);
    Conversion conversion = ConnectSchema.compile(MAPPER.readTree(text));
    known.addFirst(new Known(text, conversion));
    if (known.size() > MOST_SCHEMAS) {
      known.removeLast();
    }
    return conversion;
  }
}
