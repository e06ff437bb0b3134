package io.keylake.pipelines.messages;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.pipelines.encodings.JsonEncoding;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages with the shape of those before them, which are rows as they are. */
class KnownShapesTest {
  private static final String FORMAT =
      """
      {"format": "json", "keys": {"*": ["id"]}, "infers": %s}""";
  private static final List<String> VALUES =
      List.of(
          "null",
          "true",
          "false",
          "0",
          "-0",
          "-5",
          "999999999999999999",
          "-999999999999999999",
          "9223372036854775807",
          "9223372036854775808",
          "1.50",
          "0.0",
          "-0.0",
          "-0.5",
          "0.00001",
          "0.000001",
          "0.0000001",
          "0.0000000",
          "100000000000000000000.5",
          "12.000",
          "1e5",
          "1E-7",
          "1.5e0",
          "\"\"",
          "\"x\"",
          "\"\u007f\"",
          "\"\u00e9\u0416\u4e2d\"",
          "\"\ud83d\ude00\"",
          "\"a\\nb\"",
          "\"\\u00e9\"",
          "\"\\ud83d\"",
          "[1,2]",
          "{\"a\":1.50}");

  private static MessageReader reader(boolean infers) {
    return new MessageReader(MessageFormat.fromJson(FORMAT.formatted(infers)));
  }

  private static Change read(MessageReader reader, byte[] message) {
    List<Change> changes = reader.read("topic", 3, 5, null, message);
    assertEquals(1, changes.size());
    return changes.get(0);
  }

  private static byte[] message(String value) {
    return bytes("{\"id\":1,\"v\":%s}".formatted(value));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void assertSame(Change expected, Change found, String of) {
    assertArrayEquals(expected.row(), found.row(), of);
    assertEquals(expected.table(), found.table(), of);
    assertEquals(expected.op(), found.op(), of);
    assertEquals(expected.version(), found.version(), of);
    assertEquals(expected.at(), found.at(), of);
    assertEquals(expected.error(), found.error(), of);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void everyValueReadsAsInAFirstMessage(boolean infers) {
    for (String before : VALUES) {
      for (String value : VALUES) {
        MessageReader warm = reader(infers);
        read(warm, message(before));
        Change found = read(warm, message(value));
        assertSame(
            read(reader(infers), message(value)), found, "%s after %s".formatted(value, before));
      }
    }
  }

  @Test
  void eachKindOfValueIsToldOnce() {
    for (String before : VALUES) {
      for (String value : VALUES) {
        MessageReader warm = reader(true);
        Change first = read(warm, message(before));
        if (first.error() != null) {
          continue; // it tells nothing
        }
        String alone = read(reader(true), message(value)).found();
        String second = read(warm, message(value)).found();
        boolean isTold =
            alone == null || told(alone).isEmpty() || told(alone).equals(told(first.found()));
        String pair = "%s after %s".formatted(value, before);
        if (isTold) {
          assertNull(second, pair);
        } else {
          assertNotNull(second, pair);
          assertEquals(told(alone), told(second), pair);
        }
      }
    }
  }

  private static String told(@Nullable String found) {
    if (found == null) {
      return "";
    }
    try {
      return JsonEncoding.MAPPER.readTree(found).path("columns").path("v").toString();
    } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void theSameShapeWithSpacesIsTheSameRow() throws Exception {
    MessageReader warm = reader(true);
    read(warm, message("1"));
    Change found = read(warm, bytes("{ \"id\" : 2 ,\n \"v\" : 7 } "));
    assertEquals(
        JsonEncoding.MAPPER.readTree("{\"id\":2,\"v\":7}"),
        JsonEncoding.MAPPER.readTree(found.row()));
    assertNull(found.found());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"v\":1,\"id\":2}",
        "{\"id\":1}",
        "{\"id\":1,\"v\":1,\"w\":1}",
        "{\"id\":1,\"V\":1}",
        "{\"id\":1,\"v\":1,\"v\":2}",
        "{\"id\":1,\"v\":1,\"V\":2}",
        "{\"id\":1,\"v\":1} 2",
        "{\"id\":1,\"v\":1}}",
        "{\"id\":1,\"v\":1",
        "{\"id\":1,\"v\":01}",
        "{\"id\":1,\"v\":\"a\tb\"}",
        "[{\"id\":1,\"v\":1}]",
        "{}",
        "{",
        " ",
        "",
        "{\"schema\":null,\"payload\":{\"id\":1,\"v\":1}}"
      })
  void otherMessagesReadAsInAFirstMessage(String other) {
    MessageReader warm = reader(true);
    read(warm, message("1"));
    assertSame(read(reader(true), bytes(other)), read(warm, bytes(other)), other);
  }

  @Test
  void otherCharactersReadAsInAFirstMessage() {
    byte[] half = message("\"x  \"");
    byte[] overlong = half.clone();
    for (int i = 0; i < half.length; i++) {
      if (half[i] == 'x') {
        half[i] = (byte) 0xED; // half of a character outside of the basic plane
        half[i + 1] = (byte) 0xA0;
        half[i + 2] = (byte) 0x80;
        overlong[i] = (byte) 0xC0;
      }
    }
    byte[] twoBytes = "{\"id\":1,\"v\":\"x\"}".getBytes(StandardCharsets.UTF_16BE);
    for (byte[] each : List.of(half, overlong, twoBytes)) {
      MessageReader warm = reader(true);
      read(warm, message("\"x\""));
      assertSame(
          read(reader(true), each), read(warm, each), new String(each, StandardCharsets.UTF_8));
    }
  }

  @Test
  void aKeyThatIsNotDeclaredIsThatOfEachMessage() {
    MessageReader warm =
        new MessageReader(MessageFormat.fromJson("{\"format\": \"json\", \"infers\": true}"));
    String first = found(warm, "{\"id\":1}");
    assertTrue(first.contains("\"key\":[\"id\"]"), first);
    assertTrue(found(warm, "{\"id\":1}").isEmpty());
    String other = found(warm, "{\"v\":1}");
    assertTrue(other.contains("\"key\":[\"v\"]"), other);
    assertFalse(found(warm, "{\"id\":1}").isEmpty());
  }

  private static String found(MessageReader reader, String key) {
    String told =
        reader.read("topic", 3, 5, bytes(key), bytes("{\"id\":1,\"v\":2}")).get(0).found();
    return told == null ? "" : told;
  }
}
