package io.keylake.pipelines.multitable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

/** Rows as Spark's own interpreted projection packs them. */
class PackedRowsTest {
  private static final StructType MEMBERS =
      new StructType().add("a", DataTypes.LongType).add("b", DataTypes.StringType);
  private static final StructType TYPE =
      new StructType()
          .add("truth", DataTypes.BooleanType)
          .add("number", DataTypes.IntegerType)
          .add("long", DataTypes.LongType)
          .add("float", DataTypes.FloatType)
          .add("double", DataTypes.DoubleType)
          .add("short_decimal", DataTypes.createDecimalType(12, 2))
          .add("long_decimal", DataTypes.createDecimalType(38, 4))
          .add("text", DataTypes.StringType)
          .add("bytes", DataTypes.BinaryType)
          .add("day", DataTypes.DateType)
          .add("moment", DataTypes.TimestampType)
          .add("local", DataTypes.TimestampNTZType)
          .add("list", DataTypes.createArrayType(DataTypes.StringType))
          .add("map", DataTypes.createMapType(DataTypes.StringType, DataTypes.LongType))
          .add("struct", MEMBERS);

  private static List<@Nullable Object[]> rows() {
    Object[] whole = {
      true,
      -7,
      Long.MAX_VALUE,
      -0.0f,
      1.5,
      Decimal.apply(new BigDecimal("-12.50"), 12, 2),
      Decimal.apply(new BigDecimal("12345678901234567890123456789012.3456"), 38, 4),
      UTF8String.fromString("Å-ü 😀 and more than eight bytes"),
      new byte[] {0, -1, 5},
      20_000,
      1_760_000_000_000_001L,
      -1L,
      new GenericArrayData(new @Nullable Object[] {UTF8String.fromString("x"), null}),
      new ArrayBasedMapData(
          new GenericArrayData(new Object[] {UTF8String.fromString("k")}),
          new GenericArrayData(new Object[] {9L})),
      new GenericInternalRow(new @Nullable Object[] {null, UTF8String.fromString("member")})
    };
    List<@Nullable Object[]> rows = new ArrayList<>();
    rows.add(whole);
    rows.add(new Object[whole.length]);
    for (int i = 0; i < whole.length; i++) {
      @Nullable Object[] one = new Object[whole.length];
      one[i] = whole[i];
      rows.add(one);
      @Nullable Object[] others = whole.clone();
      others[i] = null;
      rows.add(others);
    }
    rows.add(whole.clone()); // after rows with fewer values
    return rows;
  }

  @Test
  void rowsAreThoseOfSparksProjection() {
    List<Expression> columns =
        IntStream.range(0, TYPE.size())
            .<Expression>mapToObj(i -> new BoundReference(i, TYPE.fields()[i].dataType(), true))
            .toList();
    UnsafeProjection projection =
        InterpretedUnsafeProjection.createProjection(CollectionConverters.asScala(columns).toSeq());
    PackedRows packed = new PackedRows(TYPE);
    for (@Nullable Object[] values : rows()) {
      UnsafeRow found = packed.of(values);
      UnsafeRow expected = projection.apply(new GenericInternalRow(values));
      String shown = Arrays.toString(values);
      for (int i = 0; i < values.length; i++) {
        assertEquals(expected.isNullAt(i), found.isNullAt(i), shown);
      }
      assertTrue(found.getSizeInBytes() <= expected.getSizeInBytes(), shown);
      if (values[6] != null) { // Spark leaves room for a long decimal that is null
        assertArrayEquals(expected.getBytes(), found.getBytes(), shown);
      }
    }
  }

  @Test
  void namesThatArePackedAlreadyAreWrittenAsTheyAre() {
    StructType names = new StructType().add("n", DataTypes.createArrayType(DataTypes.StringType));
    GenericArrayData texts =
        new GenericArrayData(new Object[] {UTF8String.fromString("a"), UTF8String.fromString("b")});
    UnsafeRow alone = PackedRows.alone(names.fields()[0].dataType()).apply(texts).copy();
    PackedRows packed = new PackedRows(names);
    assertArrayEquals(alone.getBytes(), packed.of(new Object[] {texts}).getBytes());
    assertArrayEquals(alone.getBytes(), packed.of(new Object[] {alone.getArray(0)}).getBytes());
  }
}
