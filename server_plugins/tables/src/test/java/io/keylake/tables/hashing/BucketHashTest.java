package io.keylake.tables.hashing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.CaseFiles;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.stream.StreamSupport;
import org.apache.iceberg.transforms.Transforms;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Buckets as Python computes them: both read the same file. */
public class BucketHashTest {

  static List<JsonNode> cases() {
    return StreamSupport.stream(CaseFiles.json("buckets.json").spliterator(), false).toList();
  }

  @ParameterizedTest
  @MethodSource("cases")
  void aKeyLiesInItsBucket(JsonNode given) {
    List<NestedField> fields = new ArrayList<>();
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < given.get("types").size(); i++) {
      Type type = Types.fromPrimitiveString(given.get("types").get(i).textValue());
      fields.add(NestedField.required(i + 1, "k" + i, type));
      values.add(value(type, given.get("values").get(i)));
    }
    int buckets = given.get("buckets").intValue();
    assertEquals(
        given.get("bucket").intValue(),
        BucketHash.isNeeded(fields)
            ? storedBucket(values, buckets)
            : Transforms.bucket(buckets).bind(fields.get(0).type()).apply(values.get(0)));
  }

  private static int storedBucket(List<Object> values, int buckets) {
    BucketHash hash = new BucketHash().add("what a hash had before").reset();
    for (Object value : values) {
      if (value instanceof Boolean flag) {
        hash.add(flag);
      } else if (value instanceof Integer number) {
        hash.add(number);
      } else if (value instanceof Long number) {
        hash.add(number);
      } else if (value instanceof ByteBuffer bytes) {
        hash.add(bytes.array());
      } else if (value instanceof BigDecimal number) {
        hash.add(number);
      } else if (value instanceof UUID id) {
        hash.add(id);
      } else {
        hash.add((String) value);
      }
    }
    return hash.bucket(buckets);
  }

  /** A value of the file as Iceberg holds it. */
  public static Object value(Type type, JsonNode value) {
    return switch (type.typeId()) {
      case BOOLEAN -> value.booleanValue();
      case INTEGER -> value.intValue();
      case LONG -> value.longValue();
      case DATE -> (int) LocalDate.parse(value.textValue()).toEpochDay();
      case TIMESTAMP ->
          ChronoUnit.MICROS.between(
              Instant.EPOCH,
              type.equals(Types.TimestampType.withZone())
                  ? OffsetDateTime.parse(value.textValue()).toInstant()
                  : LocalDateTime.parse(value.textValue()).toInstant(ZoneOffset.UTC));
      case STRING -> value.textValue();
      case BINARY -> ByteBuffer.wrap(HexFormat.of().parseHex(value.textValue()));
      case DECIMAL -> new BigDecimal(value.textValue());
      case UUID -> UUID.fromString(value.textValue());
      default -> throw new IllegalArgumentException("no key is of type " + type);
    };
  }

  @Test
  void aLongKeyGrowsTheBuffer() {
    byte[] large = new byte[100_000];
    int bucket = new BucketHash().add(large).add(7L).bucket(1_000_000);
    BucketHash used = new BucketHash().add(large).add(large).reset();
    assertEquals(bucket, used.add(large).add(7L).bucket(1_000_000));
  }
}
