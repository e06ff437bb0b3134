package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;

/** Bounds are ordered as keys are. */
class KeyBoundTest {

  private static void assertAscending(List<Type> types, List<List<Object>> keys) {
    List<NestedField> fields =
        IntStream.range(0, types.size())
            .mapToObj(i -> NestedField.required(i + 1, "k" + i, types.get(i)))
            .toList();
    Comparator<KeyBound> order = KeyBound.order(fields);
    for (int i = 0; i < keys.size(); i++) {
      for (int j = 0; j < keys.size(); j++) {
        assertEquals(
            Integer.compare(i, j),
            Integer.signum(order.compare(bound(keys.get(i)), bound(keys.get(j)))),
            keys.get(i) + " and " + keys.get(j));
      }
    }
  }

  private static KeyBound bound(List<Object> values) {
    return new KeyBound(values, 0);
  }

  private static void assertAscending(Type type, Object... values) {
    assertAscending(List.of(type), Arrays.stream(values).map(value -> List.of(value)).toList());
  }

  @Test
  void numbersAndTimes() {
    assertAscending(Types.LongType.get(), Long.MIN_VALUE, -1L, 0L, 1L, 1L << 40, Long.MAX_VALUE);
    assertAscending(Types.IntegerType.get(), Integer.MIN_VALUE, -1, 0, Integer.MAX_VALUE);
    assertAscending(Types.DateType.get(), -719162, -1, 0, 2932896);
    assertAscending(Types.TimestampType.withZone(), -1L, 0L, 1L);
    assertAscending(Types.BooleanType.get(), false, true);
    assertAscending(
        Types.DecimalType.of(38, 2),
        new BigDecimal("-999999999999999999999999999999999999.99"),
        new BigDecimal("-0.01"),
        new BigDecimal("0.00"),
        new BigDecimal("9.99"),
        new BigDecimal("10.00"));
  }

  @Test
  void textByItsBytesNotByItsChars() {
    String[] texts = {"", "A", "a", "a\0", "aa", "z", "é", "\uFFFD", "\uD83D\uDE00"};
    assertAscending(Types.StringType.get(), (Object[]) texts);
    byte[][] bytes =
        Arrays.stream(texts).map(t -> t.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
    assertAscending(Types.BinaryType.get(), Arrays.stream(bytes).map(ByteBuffer::wrap).toArray());
  }

  @Test
  void uuidsByTheirBytes() {
    assertAscending(
        Types.UUIDType.get(),
        new UUID(0, 0),
        new UUID(0, 1),
        new UUID(0, Long.MIN_VALUE),
        new UUID(1, 0),
        new UUID(Long.MAX_VALUE, -1),
        new UUID(Long.MIN_VALUE, 0),
        new UUID(-1, -1));
  }

  @Test
  void compoundKeysColumnByColumn() {
    assertAscending(
        List.of(Types.StringType.get(), Types.LongType.get()),
        List.of(List.of("a", 9L), List.of("b", -1L), List.of("b", 0L), List.of("c", -5L)));
  }

  @Test
  void theEndsLieOutsideEveryKey() {
    Comparator<KeyBound> order =
        KeyBound.order(List.of(NestedField.required(1, "k", Types.LongType.get())));
    List<KeyBound> ascending =
        List.of(
            KeyBound.LOWEST,
            bound(List.of(Long.MIN_VALUE)),
            bound(List.of(Long.MAX_VALUE)),
            KeyBound.HIGHEST);
    for (int i = 0; i < ascending.size(); i++) {
      for (int j = 0; j < ascending.size(); j++) {
        assertEquals(Integer.compare(i, j), order.compare(ascending.get(i), ascending.get(j)));
      }
    }
  }
}
