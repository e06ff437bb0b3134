package io.keylake.spark.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntFunction;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class DictionariesTest {
  private static final Type LONG = Types.LongType.get();
  private static final Type TEXT = Types.StringType.get();

  private final Random random = new Random(1);

  @Test
  void numbersOfFewValuesHaveOne() {
    assertEquals(Set.of(), ofLongs(row -> 0L));
    assertEquals(Set.of(), ofLongs(row -> (long) random.nextInt(1000)));
    assertEquals(Set.of(), ofLongs(row -> (long) random.nextInt(8000)));
  }

  @Test
  void numbersThatAreNearlyAllDifferentHaveNone() {
    assertEquals(Set.of("c"), ofLongs(row -> (long) row));
    assertEquals(Set.of("c"), ofLongs(row -> random.nextLong()));
    assertEquals(Set.of("c"), ofLongs(row -> (long) random.nextInt(100_000)));
  }

  @Test
  void longerValuesAreWorthMore() {
    String long_ = "a text of some length, which stands in the dictionary once";
    IntFunction<Object> texts = row -> UTF8String.fromString(long_ + random.nextInt(12_000));
    assertEquals(Set.of(), of(TEXT, Dictionaries.ROWS, false, texts));
    assertEquals(Set.of("c"), ofLongs(row -> (long) random.nextInt(20_000)));
  }

  @Test
  void aFileOfFewRowsIsKnownAsAWhole() {
    assertEquals(Set.of("c"), of(LONG, 100, true, row -> (long) row));
    assertEquals(Set.of("c"), of(LONG, 100, true, row -> (long) row % 90));
    assertEquals(Set.of(), of(LONG, 100, true, row -> (long) row % 20));
    assertEquals(Set.of(), of(LONG, 100, false, row -> (long) row % 90), "others follow");
  }

  @Test
  void nullsAreNotValues() {
    assertEquals(Set.of(), ofLongs(row -> null));
    assertEquals(Set.of("c"), ofLongs(row -> row % 10 == 0 ? (Object) random.nextLong() : null));
    assertEquals(Set.of(), ofLongs(row -> row % 2 == 0 ? (Object) (long) (row % 7) : null));
  }

  @Test
  void partsOfColumnsAreColumnsOfTheirOwn() {
    Type struct =
        Types.StructType.of(
            NestedField.optional(10, "country", LONG), NestedField.optional(11, "id", LONG));
    assertEquals(
        Set.of("c.id"),
        of(
            struct,
            Dictionaries.ROWS,
            false,
            row -> new GenericInternalRow(new Object[] {(long) row % 5, (long) row})));
    Type list = Types.ListType.ofOptional(10, Types.FloatType.get());
    assertEquals(
        Set.of("c.element"),
        of(list, Dictionaries.ROWS, false, row -> new GenericArrayData(floats(50))));
    Type map = Types.MapType.ofOptional(10, 11, TEXT, Types.BooleanType.get());
    assertEquals(Set.of(), of(map, Dictionaries.ROWS, false, row -> null));
  }

  private Object[] floats(int many) {
    Object[] floats = new Object[many];
    for (int i = 0; i < many; i++) {
      floats[i] = random.nextFloat();
    }
    return floats;
  }

  private static Set<String> ofLongs(IntFunction<Object> values) {
    return of(LONG, Dictionaries.ROWS, false, values);
  }

  private static Set<String> of(Type type, int rows, boolean areAll, IntFunction<Object> values) {
    Schema schema = new Schema(NestedField.optional(1, "c", type));
    List<InternalRow> first = new ArrayList<>();
    for (int row = 0; row < rows; row++) {
      first.add(new GenericInternalRow(new Object[] {values.apply(row)}));
    }
    Set<String> names = new TreeSet<>();
    Dictionaries.leftOut(first, areAll, schema)
        .forEach(
            (property, value) -> {
              assertEquals("false", value);
              names.add(
                  property.replace(
                      TableProperties.PARQUET_DICT_ENCODING_ENABLED_COLUMN_PREFIX, ""));
            });
    return names;
  }
}
