package io.keylake.spark.read.predicates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random filters over random rows, beside SQL's logic of three values, written down plainly. */
class BatchPredicateTest {
  private static final int ROWS = 200;

  /** A column of each type that a filter is asked of; few values, so that constants meet them. */
  private enum Column {
    INT(Types.IntegerType.get(), -1, 0, 1, 2, Integer.MIN_VALUE, Integer.MAX_VALUE),
    LONG(Types.LongType.get(), -1L, 0L, 1L, 2L, Long.MIN_VALUE, Long.MAX_VALUE),
    DATE(Types.DateType.get(), -1, 0, 20_000),
    TIMESTAMP(Types.TimestampType.withZone(), -1L, 0L, 1_700_000_000_000_000L),
    FLOAT(Types.FloatType.get(), -1f, -0f, 0f, 1f, Float.NaN, Float.NEGATIVE_INFINITY),
    DOUBLE(Types.DoubleType.get(), -1d, -0d, 0d, 1d, Double.NaN, Double.POSITIVE_INFINITY),
    TEXT(Types.StringType.get(), "", "a", "ab", "b", "\uFFFD", "\uD83D\uDE00"),
    TRUTH(Types.BooleanType.get(), false, true),
    DECIMAL(Types.DecimalType.of(5, 2), new BigDecimal("-1.00"), new BigDecimal("2.50"));

    final Type type;
    final List<Object> values;

    Column(Type type, Object... values) {
      this.type = type;
      this.values = List.of(values);
    }

    boolean isFloating() {
      return this == FLOAT || this == DOUBLE;
    }
  }

  /** A filter, and what SQL says of it for a row: true, false or null. */
  private record Filter(Expression expression, Function<Object[], @Nullable Boolean> truth) {}

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void noRowIsLeftOutOfWhichTheFilterIsTrue(long seed) {
    Random random = new Random(seed);
    List<NestedField> fields = new ArrayList<>();
    for (Column column : Column.values()) {
      fields.add(NestedField.optional(column.ordinal() + 1, column.name(), column.type));
    }
    for (int round = 0; round < 200; round++) {
      Object[][] rows = new Object[ROWS][];
      Arrays.setAll(rows, row -> row(random));
      Filter filter = filter(random, 3);
      boolean[] passing = new boolean[ROWS];
      BatchPredicate.of(fields, filter.expression).test(vectors(rows), ROWS, passing);
      for (int i = 0; i < ROWS; i++) {
        Boolean truth = filter.truth.apply(rows[i]);
        String told = filter.expression + " of " + Arrays.toString(rows[i]);
        if (Boolean.TRUE.equals(truth)) {
          assertTrue(passing[i], told);
        } else if (Arrays.stream(rows[i]).noneMatch(value -> value == null)) {
          assertEquals(truth, passing[i], told);
        }
      }
    }
  }

  private static @Nullable Object[] row(Random random) {
    return Arrays.stream(Column.values())
        .map(column -> random.nextInt(6) == 0 ? null : any(random, column))
        .toArray();
  }

  private static Object any(Random random, Column column) {
    return column.values.get(random.nextInt(column.values.size()));
  }

  private static Filter filter(Random random, int depth) {
    if (depth == 0 || random.nextInt(4) == 0) {
      return leaf(random);
    }
    Filter left = filter(random, depth - 1);
    switch (random.nextInt(3)) {
      case 0:
        return new Filter(Expressions.not(left.expression), row -> not(left.truth.apply(row)));
      case 1:
        Filter right = filter(random, depth - 1);
        return new Filter(
            Expressions.and(left.expression, right.expression),
            row -> not(or(not(left.truth.apply(row)), not(right.truth.apply(row)))));
      default:
        Filter other = filter(random, depth - 1);
        return new Filter(
            Expressions.or(left.expression, other.expression),
            row -> or(left.truth.apply(row), other.truth.apply(row)));
    }
  }

  private static Filter leaf(Random random) {
    Column column = Column.values()[random.nextInt(Column.values().length)];
    String name = column.name();
    int at = column.ordinal();
    Object than = any(random, column);
    if (column.isFloating() && isNaN(than)) {
      return new Filter(Expressions.isNaN(name), row -> row[at] == null ? null : isNaN(row[at]));
    }
    return switch (random.nextInt(column == Column.TRUTH ? 4 : 9)) {
      case 0 -> new Filter(Expressions.isNull(name), row -> row[at] == null);
      case 1 -> new Filter(Expressions.notNull(name), row -> row[at] != null);
      case 2 -> new Filter(Expressions.equal(name, than), of(at, than, o -> o == 0));
      case 3 -> // as NOT (a <=> 5) is handed over, which is true of null
          new Filter(
              Expressions.not(Expressions.equal(name, than)),
              row -> row[at] == null || order(row[at], than) != 0);
      case 4 -> new Filter(Expressions.lessThan(name, than), of(at, than, o -> o < 0));
      case 5 -> new Filter(Expressions.lessThanOrEqual(name, than), of(at, than, o -> o <= 0));
      case 6 -> new Filter(Expressions.greaterThan(name, than), of(at, than, o -> o > 0));
      case 7 ->
          column == Column.TEXT
              ? new Filter(
                  Expressions.startsWith(name, (String) than),
                  row -> row[at] == null ? null : ((String) row[at]).startsWith((String) than))
              : new Filter(Expressions.greaterThanOrEqual(name, than), of(at, than, o -> o >= 0));
      default -> {
        Object other = any(random, column);
        if (column.isFloating() && isNaN(other)) {
          yield new Filter(
              Expressions.notNaN(name), row -> row[at] == null ? null : !isNaN(row[at]));
        }
        yield new Filter(
            Expressions.in(name, than, other),
            row ->
                row[at] == null ? null : order(row[at], than) == 0 || order(row[at], other) == 0);
      }
    };
  }

  private static boolean isNaN(Object value) {
    return Double.isNaN(((Number) value).doubleValue());
  }

  private static Function<Object[], @Nullable Boolean> of(
      int at, Object than, Function<Integer, Boolean> what) {
    return row -> row[at] == null ? null : what.apply(order(row[at], than));
  }

  private static int order(Object value, Object than) {
    if (value instanceof Float || value instanceof Double) {
      double left = ((Number) value).doubleValue();
      double right = ((Number) than).doubleValue();
      return left == right ? 0 : Double.compare(left, right);
    }
    if (value instanceof String text) {
      return UTF8String.fromString(text).compareTo(UTF8String.fromString((String) than));
    }
    @SuppressWarnings("unchecked")
    Comparable<Object> comparable = (Comparable<Object>) value;
    return comparable.compareTo(than);
  }

  private static @Nullable Boolean not(@Nullable Boolean truth) {
    return truth == null ? null : !truth;
  }

  private static @Nullable Boolean or(@Nullable Boolean left, @Nullable Boolean right) {
    if (Boolean.TRUE.equals(left) || Boolean.TRUE.equals(right)) {
      return true;
    }
    return left == null || right == null ? null : false;
  }

  private static ColumnVector[] vectors(Object[][] rows) {
    return Arrays.stream(Column.values())
        .map(
            column -> {
              WritableColumnVector vector = vector(column);
              for (int i = 0; i < rows.length; i++) {
                put(vector, i, rows[i][column.ordinal()]);
              }
              return vector;
            })
        .toArray(ColumnVector[]::new);
  }

  private static WritableColumnVector vector(Column column) {
    return new OnHeapColumnVector(
        ROWS,
        switch (column) {
          case INT -> DataTypes.IntegerType;
          case LONG -> DataTypes.LongType;
          case DATE -> DataTypes.DateType;
          case TIMESTAMP -> DataTypes.TimestampType;
          case FLOAT -> DataTypes.FloatType;
          case DOUBLE -> DataTypes.DoubleType;
          case TEXT -> DataTypes.StringType;
          case TRUTH -> DataTypes.BooleanType;
          case DECIMAL -> DataTypes.createDecimalType(5, 2);
        });
  }

  private static void put(WritableColumnVector vector, int row, @Nullable Object value) {
    if (value == null) {
      vector.putNull(row);
    } else if (value instanceof Integer number) {
      vector.putInt(row, number);
    } else if (value instanceof Long number) {
      vector.putLong(row, number);
    } else if (value instanceof Float number) {
      vector.putFloat(row, number);
    } else if (value instanceof Double number) {
      vector.putDouble(row, number);
    } else if (value instanceof String text) {
      vector.putByteArray(row, UTF8String.fromString(text).getBytes());
    } else if (value instanceof Boolean truth) {
      vector.putBoolean(row, truth);
    } else {
      vector.putDecimal(row, Decimal.apply((BigDecimal) value), 5);
    }
  }
}
