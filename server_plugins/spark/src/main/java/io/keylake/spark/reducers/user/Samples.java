package io.keylake.spark.reducers.user;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A few values of a type, plain ones first, then those that are easily forgotten. */
final class Samples {
  private Samples() {}

  public static List<Object> of(DataType type) {
    if (type instanceof ArrayType list) {
      return lists(list.elementType());
    }
    if (type instanceof MapType map) {
      return maps(map);
    }
    if (type instanceof StructType struct) {
      return structs(struct);
    }
    if (type instanceof DecimalType decimal) {
      BigInteger most = BigInteger.TEN.pow(decimal.precision()).subtract(BigInteger.ONE);
      return List.of(
          new BigDecimal(BigInteger.ONE, decimal.scale()),
          new BigDecimal(BigInteger.valueOf(-3), decimal.scale()),
          new BigDecimal(BigInteger.ZERO, decimal.scale()),
          new BigDecimal(most, decimal.scale()),
          new BigDecimal(most.negate(), decimal.scale()));
    }
    return switch (type.typeName()) {
      case "boolean" -> List.of(true, false);
      case "integer" -> List.of(1, 2, 0, -1, 7, Integer.MAX_VALUE, Integer.MIN_VALUE);
      case "long" -> List.of(1L, 2L, 0L, -1L, 7L, Long.MAX_VALUE, Long.MIN_VALUE);
      case "float" ->
          List.of(1f, 2f, 0.1f, 0f, -1f, -0f, 3e38f, Float.NaN, Float.POSITIVE_INFINITY);
      case "double" ->
          List.of(
              1.0,
              2.0,
              0.1,
              0.2,
              0.0,
              -1.0,
              -0.0,
              1e16,
              1e308,
              Double.MIN_VALUE,
              Double.NaN,
              Double.POSITIVE_INFINITY,
              Double.NEGATIVE_INFINITY);
      case "string" -> List.of("a", "b", "", "ab", "\u00e9", "\ud83d\ude00");
      case "binary" -> List.of(new byte[] {1}, new byte[] {}, new byte[] {-128, 0, 127});
      case "date" -> List.of(LocalDate.EPOCH, LocalDate.of(2026, 11, 1), LocalDate.of(1, 1, 1));
      case "timestamp" ->
          List.of(
              Instant.EPOCH,
              Instant.ofEpochSecond(1_800_000_000, 1_000),
              Instant.ofEpochSecond(-1));
      default ->
          List.of(
              LocalDateTime.of(1970, 1, 1, 0, 0),
              LocalDateTime.of(2026, 11, 1, 12, 30, 0, 1_000),
              LocalDateTime.of(1, 1, 1, 0, 0));
    };
  }

  private static List<Object> lists(DataType type) {
    List<Object> elements = of(type);
    List<Object> lists = new ArrayList<>();
    lists.add(elements.subList(0, 1));
    lists.add(List.of(elements.get(1 % elements.size()), elements.get(0)));
    lists.add(List.of());
    lists.add(elements);
    return lists;
  }

  private static List<Object> maps(MapType type) {
    List<Object> keys = of(type.keyType());
    List<Object> values = of(type.valueType());
    List<Object> maps = new ArrayList<>();
    for (int size = 0; size <= Math.min(3, keys.size()); size++) {
      Map<Object, Object> map = new LinkedHashMap<>();
      for (int i = 0; i < size; i++) {
        map.put(keys.get(i), values.get((i + size) % values.size()));
      }
      maps.add(map);
    }
    return maps;
  }

  private static List<Object> structs(StructType type) {
    List<Object> structs = new ArrayList<>();
    for (int number = 0; number < 5; number++) {
      Map<String, Object> struct = new LinkedHashMap<>();
      for (StructField field : type.fields()) {
        List<Object> values = of(field.dataType());
        struct.put(field.name(), values.get((number * (1 + struct.size())) % values.size()));
      }
      structs.add(struct);
    }
    return structs;
  }
}
