package io.keylake.pipelines.multitable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.RandomRuns;
import io.keylake.spark.write.TableWrite;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.iceberg.transforms.Transforms;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Rows of JSON as rows of a table with the key p, k, of which p is the partition. */
class RowDecoderTest {
  private static final int BUCKETS = 4;
  private static final KeyedSchema SCHEMA = schema();
  private static final StructType TYPE = TableWrite.rowType(SCHEMA);
  private static final List<String> VALUES = List.of("a", "Name", "list");

  static KeyedSchema schema() {
    String spec =
        """
        {'spec_version': 1, 'schema': {'type': 'struct', 'fields': [
           {'id': 1, 'name': 'p', 'required': true, 'type': 'string'},
           {'id': 2, 'name': 'k', 'required': true, 'type': 'long'},
           {'id': 3, 'name': 'a', 'required': false, 'type': 'int'},
           {'id': 4, 'name': 'Name', 'required': false, 'type': 'string'},
           {'id': 5, 'name': 'list', 'required': false, 'type':
              {'type': 'list', 'element-id': 6, 'element': 'long', 'element-required': false}}]},
         'key': ['p', 'k'], 'bucket_by': ['k'], 'partition_by': ['p'], 'buckets': %d, 'versions': 'explicit'}
        """
            .formatted(BUCKETS);
    TableDefinition definition = TableDefinition.fromJson(spec.replace('\'', '"'));
    return KeyedSchema.of(definition.spec(), definition.icebergSchema());
  }

  private static InternalRow read(RowDecoder decoder, String op, String json) {
    byte[] bytes = json.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
    decoder.read(bytes, UTF8String.fromString(op), 7);
    return decoder.packed();
  }

  private static int place(String column) {
    return TYPE.fieldIndex(column);
  }

  private static List<String> carried(InternalRow row) {
    int place = TYPE.length() - 1;
    return IntStream.range(0, row.getArray(place).numElements())
        .mapToObj(i -> row.getArray(place).getUTF8String(i).toString())
        .toList();
  }

  private static String shown(InternalRow row, String column) {
    int place = place(column);
    if (row.isNullAt(place)) {
      return null;
    }
    return switch (column) {
      case "a" -> String.valueOf(row.getInt(place));
      case "k" -> String.valueOf(row.getLong(place));
      case "list" -> Arrays.toString(row.getArray(place).toLongArray());
      default -> row.getUTF8String(place).toString();
    };
  }

  @Test
  void fieldsAreMatchedWhateverTheirCaseAndOrder() {
    RandomRuns.of(
        4,
        random -> {
          RowDecoder decoder = new RowDecoder(SCHEMA);
          for (int i = 0; i < 200; i++) {
            check(random, decoder);
          }
        });
  }

  private static void check(Random random, RowDecoder decoder) {
    Map<String, String> given = new HashMap<>(Map.of("p", "p" + random.nextInt(3)));
    given.put("k", String.valueOf(random.nextInt(1000)));
    for (String column : VALUES) {
      if (random.nextInt(3) > 0) {
        given.put(column, random.nextInt(4) == 0 ? null : value(random, column));
      }
    }
    List<String> fields = new ArrayList<>();
    given.forEach(
        (column, value) -> {
          String name = random.nextBoolean() ? column : column.toUpperCase();
          boolean isText = column.equals("p") || column.equals("Name");
          fields.add("'%s': %s".formatted(name, isText && value != null ? quoted(value) : value));
        });
    Collections.shuffle(fields, random);
    InternalRow row = read(decoder, "u", "{" + String.join(", ", fields) + "}");
    for (String column : List.of("p", "k", "a", "Name", "list")) {
      assertEquals(given.get(column), shown(row, column), column);
    }
    assertEquals(VALUES.stream().filter(given::containsKey).toList(), carried(row));
    assertEquals(7, row.getLong(TYPE.length() - 3));
    assertEquals("u", row.getUTF8String(TYPE.length() - 2).toString());
    assertEquals(bucket(Long.parseLong(given.get("k"))), decoder.bucket());
    assertEquals(decoder.bucket(), row.getInt(place(KeyedSchema.BUCKET)));
  }

  private static String value(Random random, String column) {
    long number = random.nextInt(100);
    return switch (column) {
      case "a" -> String.valueOf(number);
      case "list" -> "[%d, %d]".formatted(number, -number);
      default -> "name " + number;
    };
  }

  private static String quoted(String text) {
    return "'" + text + "'";
  }

  private static int bucket(long key) {
    return Transforms.bucket(BUCKETS).bind(Types.LongType.get()).apply(key);
  }

  @Test
  void aDeleteCarriesNoColumnAndItsValuesAreNotLookedAt() {
    RowDecoder decoder = new RowDecoder(SCHEMA);
    assertEquals(List.of("a"), carried(read(decoder, "c", "{'p': 'x', 'k': 1, 'a': 5}")));
    InternalRow row = read(decoder, "d", "{'p': 'x', 'k': 1, 'a': {'no': ['number']}}");
    assertEquals(List.of(), carried(row));
    assertTrue(row.isNullAt(place("a")));
    assertEquals("1", shown(row, "k"));
    row = read(decoder, "c", "{'p': 'x', 'k': 1, 'a': 5}");
    assertEquals(List.of("a"), carried(row));
    assertEquals("5", shown(row, "a"));
  }

  @Test
  void placesAreInTheOrderOfPartitionBucketAndKey() {
    record Placed(String partition, long key, byte[] place) {}
    RandomRuns.of(
        2,
        random -> {
          RowDecoder decoder = new RowDecoder(SCHEMA);
          List<Placed> rows = new ArrayList<>();
          for (int i = 0; i < 100; i++) {
            String partition = "p".repeat(random.nextInt(3));
            long key = random.nextInt(40) - 20;
            read(decoder, "u", "{'p': '%s', 'k': %d}".formatted(partition, key));
            rows.add(new Placed(partition, key, decoder.place()));
          }
          Comparator<Placed> byNames =
              Comparator.comparing(Placed::partition)
                  .thenComparing(row -> bucket(row.key()))
                  .thenComparing(Placed::key);
          for (Placed one : rows) {
            for (Placed other : rows) {
              assertEquals(
                  Integer.signum(byNames.compare(one, other)),
                  Integer.signum(Arrays.compareUnsigned(one.place(), other.place())));
            }
          }
        });
  }

  private static void refused(Kind kind, String why, String json) {
    RowDecoder decoder = new RowDecoder(SCHEMA);
    KeylakeException error =
        assertThrows(KeylakeException.class, () -> read(decoder, "u", json), json);
    assertEquals(kind, error.kind());
    assertTrue(error.sentence().contains(why), error.sentence());
    assertEquals("2", shown(read(decoder, "u", "{'p': 'x', 'k': 2}"), "k"), "of the next row");
  }

  @Test
  void aRowThatTheTableCannotHoldIsRefusedWithTheReason() {
    refused(Kind.BAD_ROWS, "the row is not a JSON object: ", "{'p': 'x', 'k': }");
    refused(Kind.BAD_ROWS, "the row is not a JSON object", "[1]");
    refused(Kind.BAD_ROWS, "the row is not a JSON object", "");
    refused(Kind.BAD_ROWS, "the row goes on behind the JSON object", "{'p': 'x', 'k': 1} 2");
    refused(Kind.BAD_ROWS, "the key column 'k' is not in the row", "{'p': 'x'}");
    refused(Kind.BAD_ROWS, "the key column 'p' is null", "{'p': null, 'k': 1}");
    refused(Kind.SCHEMA_MISMATCH, "the column 'A' twice", "{'a': 1, 'A': 1, 'p': 'x', 'k': 1}");
    refused(Kind.SCHEMA_MISMATCH, "a field 'z'", "{'p': 'x', 'k': 1, 'z': 1}");
    refused(
        Kind.BAD_ROWS,
        "column 'a' is int and cannot hold 1.5 without changing it",
        "{'p': 'x', 'k': 1, 'a': 1.5}");
    refused(
        Kind.BAD_ROWS,
        "column 'a' is int and cannot hold 3000000000 without changing it",
        "{'p': 'x', 'k': 1, 'a': 3000000000}");
  }

  @Test
  void aNullOfAColumnThatIsNotThereIsLeftOut() {
    InternalRow row = read(new RowDecoder(SCHEMA), "u", "{'p': 'x', 'z': null, 'k': 1, 'a': 2}");
    assertEquals(List.of("a"), carried(row));
    assertEquals("2", shown(row, "a"));
  }

  @Test
  void aRowWithMoreFieldsThanColumnsIsRead() {
    String nulls = String.join(", ", Collections.nCopies(20, "'z': null"));
    InternalRow row =
        read(new RowDecoder(SCHEMA), "u", "{" + nulls + ", 'p': 'x', 'k': 1, 'a': 2}");
    assertEquals("2", shown(row, "a"));
  }
}
