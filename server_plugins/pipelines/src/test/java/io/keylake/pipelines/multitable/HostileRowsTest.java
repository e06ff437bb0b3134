package io.keylake.pipelines.multitable;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.RandomRuns;
import io.keylake.pipelines.HostileBytes;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rows of JSON that somebody has changed on purpose: a row of the table, or one sentence. */
@Tag("random")
class HostileRowsTest {
  private static final int ROWS = 4000;
  private static final int LONGEST = 2000;
  private static final KeyedSchema SCHEMA = schema();
  private static final List<String> ROW =
      List.of(
          "'k': 7",
          "'i': 5",
          "'f': 0.5",
          "'d': 0.5",
          "'m': '1.50'",
          "'b': true",
          "'day': '2026-11-28'",
          "'at': '2026-11-28T10:00:00'",
          "'zoned': '2026-11-28T10:00:00Z'",
          "'u': '00000000-0000-0000-0000-000000000007'",
          "'raw': 'AQI='",
          "'t': 'text'",
          "'l': [1, null]",
          "'s': {'x': 1, 'y': ['a']}");

  private static KeyedSchema schema() {
    List<String> types =
        List.of(
            "long",
            "int",
            "float",
            "double",
            "decimal(10, 2)",
            "boolean",
            "date",
            "timestamp",
            "timestamptz",
            "uuid",
            "binary",
            "string");
    List<String> names =
        List.of("k", "i", "f", "d", "m", "b", "day", "at", "zoned", "u", "raw", "t");
    StringBuilder fields = new StringBuilder();
    for (int i = 0; i < types.size(); i++) {
      fields.append(
          "{'id': %d, 'name': '%s', 'required': %b, 'type': '%s'},"
              .formatted(i + 1, names.get(i), i == 0, types.get(i)));
    }
    String nested =
        """
        {'id': 20, 'name': 'l', 'required': false, 'type':
           {'type': 'list', 'element-id': 21, 'element': 'long', 'element-required': false}},
        {'id': 22, 'name': 's', 'required': false, 'type': {'type': 'struct', 'fields': [
           {'id': 23, 'name': 'x', 'required': false, 'type': 'int'},
           {'id': 24, 'name': 'y', 'required': false, 'type':
              {'type': 'list', 'element-id': 25, 'element': 'string', 'element-required': false}}]}}
        """;
    String spec =
        "{'spec_version': 1, 'schema': {'type': 'struct', 'fields': [%s %s]}, 'key': ['k'], 'bucket_by': ['k'], 'partition_by': [], 'buckets': 4, 'versions': 'explicit'}"
            .formatted(fields, nested);
    TableDefinition definition = TableDefinition.fromJson(spec.replace('\'', '"'));
    return KeyedSchema.of(definition.spec(), definition.icebergSchema());
  }

  @Test
  @Timeout(240)
  void aChangedRowIsARowOrOneSentence() {
    byte[] good =
        ("{" + String.join(", ", ROW) + "}").replace('\'', '"').getBytes(StandardCharsets.UTF_8);
    RandomRuns.of(
        2,
        random -> {
          RowDecoder decoder = new RowDecoder(SCHEMA);
          for (int i = 0; i < ROWS; i++) {
            check(decoder, good, random);
          }
        });
  }

  private static void check(RowDecoder decoder, byte[] good, Random random) {
    byte[] row = HostileBytes.of(good, random);
    UTF8String op = UTF8String.fromString(random.nextBoolean() ? "u" : "d");
    try {
      decoder.read(good, op, 1);
      decoder.read(row, op, 2);
      assertTrue(decoder.packed().numFields() > 0);
    } catch (KeylakeException e) {
      assertFalse(e.sentence().contains("\n"), e.sentence());
      assertFalse(e.sentence().contains("Exception"), e.sentence());
      assertTrue(e.sentence().length() < LONGEST, e.sentence());
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
      throw new AssertionError(new String(row, StandardCharsets.UTF_8) + ": " + e, e);
    }
  }
}
