package io.keylake.spark.keys;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.RowOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

class OrderPrefixTest {
  private static final List<DataType> TYPES =
      List.of(
          DataTypes.BooleanType,
          DataTypes.IntegerType,
          DataTypes.LongType,
          DataTypes.DateType,
          DataTypes.TimestampType,
          DataTypes.StringType,
          DataTypes.BinaryType,
          DataTypes.createDecimalType(9, 2),
          DataTypes.createDecimalType(38, 4));

  private final Random random = new Random(7);

  @Test
  void prefixesOfRowsAreInTheOrderOfTheirColumns() {
    for (int round = 0; round < 60; round++) {
      DataType[] types = new DataType[1 + random.nextInt(4)];
      Arrays.setAll(types, i -> TYPES.get(random.nextInt(TYPES.size())));
      checkOrder(types, 200);
    }
  }

  @Test
  void fewColumnsOfNumbersHaveRoom() {
    assertDiffer(new DataType[] {DataTypes.IntegerType, DataTypes.LongType}, () -> bucketAnd(40));
    assertDiffer(
        new DataType[] {DataTypes.IntegerType, DataTypes.IntegerType, DataTypes.IntegerType},
        () ->
            new GenericInternalRow(
                new Object[] {
                  random.nextInt(64), 20_000 + random.nextInt(1000), random.nextInt(1_000_000)
                }));
  }

  @Test
  void aRowWithoutAValueHasNoPrefix() {
    InternalRow row = new GenericInternalRow(new Object[] {1, null});
    DataType[] types = {DataTypes.IntegerType, DataTypes.LongType};
    assertTrue(prefixes(types).apply(row).isNullAt(0));
  }

  private InternalRow bucketAnd(int bits) {
    return new GenericInternalRow(new Object[] {random.nextInt(64), random.nextLong(1L << bits)});
  }

  private void assertDiffer(DataType[] types, Supplier<InternalRow> rows) {
    UnsafeProjection prefixes = prefixes(types);
    Comparator<InternalRow> order = order(types);
    for (int i = 0; i < 1000; i++) {
      InternalRow a = rows.get();
      InternalRow b = rows.get();
      assertEquals(
          Integer.signum(order.compare(a, b)),
          Long.compare(prefixes.apply(a).getLong(0), prefixes.apply(b).getLong(0)));
    }
  }

  private void checkOrder(DataType[] types, int rows) {
    UnsafeProjection prefixes = prefixes(types);
    List<InternalRow> sorted = new ArrayList<>();
    for (int i = 0; i < rows; i++) {
      Object[] values = new Object[types.length];
      for (int column = 0; column < types.length; column++) {
        values[column] = value(types[column]);
      }
      sorted.add(new GenericInternalRow(values));
    }
    sorted.sort(order(types));
    for (int i = 1; i < rows; i++) {
      long before = prefixes.apply(sorted.get(i - 1)).getLong(0);
      long after = prefixes.apply(sorted.get(i)).getLong(0);
      assertTrue(before <= after, Arrays.toString(types) + sorted.get(i - 1) + sorted.get(i));
    }
  }

  private static Comparator<InternalRow> order(DataType[] types) {
    return RowOrdering.createNaturalAscendingOrdering(
        CollectionConverters.asScala(Arrays.asList(types)).toSeq());
  }

  private static UnsafeProjection prefixes(DataType[] types) {
    List<Expression> columns = new ArrayList<>();
    for (DataType type : types) {
      columns.add(new BoundReference(columns.size(), type, true));
    }
    return UnsafeProjection.create(
        CollectionConverters.asScala(List.of(OrderPrefix.of(columns))).toSeq());
  }

  /** Of few values, so that rows have equal columns, and of large ones, so that bits run out. */
  private Object value(DataType type) {
    if (type.equals(DataTypes.BooleanType)) {
      return random.nextBoolean();
    }
    if (type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType)) {
      return (int) number(Integer.SIZE);
    }
    if (type.equals(DataTypes.StringType)) {
      return UTF8String.fromBytes(bytes());
    }
    if (type.equals(DataTypes.BinaryType)) {
      return bytes();
    }
    if (type.equals(DataTypes.createDecimalType(9, 2))) {
      return Decimal.apply(BigDecimal.valueOf(number(30) % 1_000_000_000, 2), 9, 2);
    }
    if (type.equals(DataTypes.createDecimalType(38, 4))) {
      BigInteger large = BigInteger.valueOf(number(Long.SIZE)).multiply(BigInteger.valueOf(1009));
      return Decimal.apply(new BigDecimal(large, 4), 38, 4);
    }
    return number(Long.SIZE);
  }

  private long number(int bits) {
    long whole = random.nextLong() >> Long.SIZE - bits;
    return random.nextBoolean() ? whole % 3 : whole >> random.nextInt(bits);
  }

  private byte[] bytes() {
    byte[] bytes = new byte[random.nextInt(10)];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (random.nextBoolean() ? random.nextInt(2) : random.nextInt());
    }
    return bytes;
  }
}
