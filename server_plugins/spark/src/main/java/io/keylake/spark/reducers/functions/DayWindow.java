package io.keylake.spark.reducers.functions;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.tables.KeylakeException;
import java.math.BigDecimal;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/** One window function over columns of one type. Spark calls {@code invoke} by its name. */
public final class DayWindow implements ScalarFunction<Object> {
  private static final long serialVersionUID = 1L;

  private final WindowKind kind;
  private final DataType column;
  private final DataType value;

  DayWindow(WindowKind kind, DataType column, DataType value) {
    this.kind = kind;
    this.column = column;
    this.value = value;
  }

  @Override
  public DataType[] inputTypes() {
    return column instanceof StructType
        ? new DataType[] {column, DataTypes.IntegerType, DataTypes.DateType}
        : new DataType[] {column, DataTypes.IntegerType};
  }

  @Override
  public DataType resultType() {
    return kind.resultType(value);
  }

  @Override
  public String name() {
    return kind.functionName();
  }

  @Override
  public String canonicalName() {
    return "keylake." + name() + "(" + column.catalogString() + ")";
  }

  /**
   * @param daily the newest day, and a value for it and for each day before it
   * @param days how many days the window has
   * @param asOf its last day
   */
  public @Nullable Object invoke(@Nullable InternalRow daily, int days, int asOf) {
    check(days);
    if (daily == null || daily.isNullAt(0) || daily.isNullAt(1)) {
      return ofNothing();
    }
    ArrayData values = daily.getArray(1);
    long behind = (long) daily.getInt(0) - asOf; // days that are newer than the window
    long from = Math.max(behind, 0);
    long to = Math.min(behind + days, values.numElements());
    return over(values, (int) Math.min(from, values.numElements()), (int) Math.max(to, 0));
  }

  /**
   * @param values the newest day's first
   */
  public @Nullable Object invoke(@Nullable ArrayData values, int days) {
    check(days);
    return values == null ? ofNothing() : over(values, 0, Math.min(days, values.numElements()));
  }

  private @Nullable Object ofNothing() {
    return kind == WindowKind.COUNT ? 0L : null;
  }

  private void check(int days) {
    if (days < 1) {
      throw new KeylakeException(
          BAD_ROWS, "%s was asked for %d days; a window has at least 1".formatted(name(), days));
    }
  }

  private @Nullable Object over(ArrayData values, int from, int to) {
    if (kind == WindowKind.COUNT) {
      long count = 0;
      for (int i = from; i < to; i++) {
        count += values.isNullAt(i) ? 0 : 1;
      }
      return count;
    }
    if (value instanceof DecimalType decimal) {
      return decimals(values, from, to, decimal);
    }
    return kind == WindowKind.AVG || value instanceof DoubleType || value instanceof FloatType
        ? floating(values, from, to)
        : whole(values, from, to);
  }

  private @Nullable Object whole(ArrayData values, int from, int to) {
    boolean isInt = value instanceof IntegerType;
    long count = 0;
    long result = 0;
    for (int i = from; i < to; i++) {
      if (!values.isNullAt(i)) {
        long next = isInt ? values.getInt(i) : values.getLong(i);
        result =
            count == 0
                ? next
                : switch (kind) {
                  case MIN -> Math.min(result, next);
                  case MAX -> Math.max(result, next);
                  default -> added(result, next);
                };
        count++;
      }
    }
    if (count == 0) {
      return null;
    }
    return isInt && kind != WindowKind.SUM ? (Object) (int) result : (Object) result;
  }

  private long added(long sum, long next) {
    try {
      return Math.addExact(sum, next);
    } catch (ArithmeticException e) {
      throw new KeylakeException(
          BAD_ROWS,
          "the sum of %s does not fit a long: %d and %d; make the column a decimal"
              .formatted(name(), sum, next));
    }
  }

  private @Nullable Object floating(ArrayData values, int from, int to) {
    boolean isFloat = value instanceof FloatType;
    long count = 0;
    double result = 0;
    for (int i = from; i < to; i++) {
      if (!values.isNullAt(i)) {
        double next = number(values, i);
        result =
            count == 0
                ? next
                : switch (kind) {
                  case MIN -> Double.compare(next, result) < 0 ? next : result;
                  case MAX -> Double.compare(next, result) > 0 ? next : result;
                  default -> result + next;
                };
        count++;
      }
    }
    if (count == 0) {
      return null;
    }
    return switch (kind) {
      case AVG -> result / count;
      case MIN, MAX -> isFloat ? (Object) (float) result : (Object) result;
      default -> result;
    };
  }

  private double number(ArrayData values, int i) {
    if (value instanceof DoubleType) {
      return values.getDouble(i);
    }
    if (value instanceof FloatType) {
      return values.getFloat(i);
    }
    return value instanceof IntegerType ? values.getInt(i) : values.getLong(i);
  }

  private @Nullable Object decimals(ArrayData values, int from, int to, DecimalType type) {
    long count = 0;
    BigDecimal result = BigDecimal.ZERO;
    for (int i = from; i < to; i++) {
      if (!values.isNullAt(i)) {
        BigDecimal next = values.getDecimal(i, type.precision(), type.scale()).toJavaBigDecimal();
        result =
            count == 0
                ? next
                : switch (kind) {
                  case MIN -> next.min(result);
                  case MAX -> next.max(result);
                  default -> result.add(next);
                };
        count++;
      }
    }
    if (count == 0) {
      return null;
    }
    if (kind == WindowKind.AVG) {
      return result.doubleValue() / count;
    }
    DecimalType shown = (DecimalType) resultType();
    return Decimal.apply(result, shown.precision(), shown.scale());
  }
}
