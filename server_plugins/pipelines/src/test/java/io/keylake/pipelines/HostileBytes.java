package io.keylake.pipelines;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.pipelines.encodings.JsonEncoding;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Documents as somebody sends them who means no good: bytes that are changed, and odd values. */
public final class HostileBytes {
  private static final List<byte[]> ODD_BYTES =
      List.of(
          new byte[] {-1, -1, -1, -1},
          new byte[] {-2, -1, -1, -1, 15}, // the largest number of Avro
          new byte[] {-1, -1, -1, -1, -1, -1, -1, -1, -1, 1},
          new byte[] {0},
          "\\ud800".getBytes(StandardCharsets.UTF_8),
          "1e999999999".getBytes(StandardCharsets.UTF_8),
          "[[[[".getBytes(StandardCharsets.UTF_8));

  /** Values as JSON has them. */
  public static final List<String> ODD_VALUES =
      List.of(
          "null",
          "true",
          "0",
          "-1",
          "1.5",
          "9223372036854775807",
          "9223372036854775808",
          "-9223372036854775809",
          "1e400",
          "1e999999999",
          "-1e-999999999",
          "9".repeat(900),
          "\"\"",
          "\" \"",
          "\"\\u0000\"",
          "\"\\ud800\"",
          "\"1e999999999\"",
          "\"" + "9".repeat(900) + "\"",
          "\"NaN\"",
          "\"-Infinity\"",
          "\"0000-00-00\"",
          "\"2026-02-30\"",
          "\"999999999-12-31\"",
          "\"2026-11-28T25:61:61Z\"",
          "\"2026-11-28T10:00:00+99:00\"",
          "\"" + "x".repeat(20_000) + "\"",
          "\"struct<a:\"",
          "\"../../outside\"",
          "[]",
          "[null]",
          "{}",
          "{\"\":{}}",
          "{\"schema\":{},\"payload\":{}}",
          "{\"schema\":{\"type\":\"struct\"},\"payload\":[]}",
          "{\"type\":\"array\",\"items\":{\"type\":\"array\"}}",
          "[".repeat(900) + "]".repeat(900),
          "[".repeat(5000) + "]".repeat(5000));

  private HostileBytes() {}

  /** The document with one to three changes. */
  public static byte[] of(byte[] document, Random random) {
    byte[] changed = document;
    for (int i = 0; i < 1 + random.nextInt(3); i++) {
      changed = random.nextBoolean() ? bytes(changed, random) : values(changed, random);
    }
    return changed;
  }

  private static byte[] bytes(byte[] content, Random random) {
    int at = random.nextInt(content.length + 1);
    int end = Math.min(content.length, at + List.of(1, 4, 40).get(random.nextInt(3)));
    byte[] head = Arrays.copyOf(content, at);
    byte[] tail = Arrays.copyOfRange(content, at, content.length);
    byte[] odd = ODD_BYTES.get(random.nextInt(ODD_BYTES.size()));
    switch (random.nextInt(6)) {
      case 0 -> {
        byte[] flipped = content.clone();
        if (at < flipped.length) {
          flipped[at] ^= (byte) (1 << random.nextInt(8));
        }
        return flipped;
      }
      case 1 -> {
        return joined(head, odd, tail);
      }
      case 2 -> {
        return joined(head, Arrays.copyOfRange(content, end, content.length));
      }
      case 3 -> {
        return joined(head, Arrays.copyOfRange(content, at, end), tail);
      }
      case 4 -> {
        return joined(head, odd, Arrays.copyOfRange(content, end, content.length));
      }
      default -> {
        return head;
      }
    }
  }

  private static byte[] joined(byte[]... parts) {
    int length = 0;
    for (byte[] part : parts) {
      length += part.length;
    }
    byte[] joined = new byte[length];
    int at = 0;
    for (byte[] part : parts) {
      System.arraycopy(part, 0, joined, at, part.length);
      at += part.length;
    }
    return joined;
  }

  /**
   * JSON in which a value is another one, is gone, or is elsewhere, too; other bytes as they are.
   */
  private static byte[] values(byte[] content, Random random) {
    JsonNode whole;
    try {
      whole = JsonEncoding.MAPPER.readTree(content);
    } catch (IOException | NumberFormatException e) { // an exponent can be beyond all numbers
      return bytes(content, random);
    }
    List<Place> places = new ArrayList<>();
    collect(whole, places);
    if (places.isEmpty()) {
      return bytes(content, random);
    }
    Place place = places.get(random.nextInt(places.size()));
    String marker = "\"a value that is replaced\"";
    String odd = ODD_VALUES.get(random.nextInt(ODD_VALUES.size()));
    switch (random.nextInt(4)) {
      case 0 -> place.remove();
      case 1 -> place.set(places.get(random.nextInt(places.size())).value().deepCopy());
      default -> place.set(JsonNodeFactory.instance.textNode("a value that is replaced"));
    }
    try {
      return JsonEncoding.MAPPER
          .writeValueAsString(whole)
          .replace(marker, odd)
          .getBytes(StandardCharsets.UTF_8);
    } catch (IOException e) { // it is deeper than JSON is written
      return bytes(content, random);
    }
  }

  private static void collect(JsonNode node, List<Place> places) {
    if (node instanceof ObjectNode object) {
      object.fieldNames().forEachRemaining(name -> places.add(new Place(object, name, 0)));
    } else if (node instanceof ArrayNode array) {
      for (int i = 0; i < array.size(); i++) {
        places.add(new Place(array, "", i));
      }
    }
    node.forEach(each -> collect(each, places));
  }

  private record Place(JsonNode holder, String name, int number) {
    JsonNode value() {
      return holder.isObject() ? holder.path(name) : holder.path(number);
    }

    void set(JsonNode value) {
      if (holder instanceof ObjectNode object) {
        object.set(name, value);
      } else {
        ((ArrayNode) holder).set(number, value);
      }
    }

    void remove() {
      if (holder instanceof ObjectNode object) {
        object.remove(name);
      } else {
        ((ArrayNode) holder).remove(number);
      }
    }
  }
}
