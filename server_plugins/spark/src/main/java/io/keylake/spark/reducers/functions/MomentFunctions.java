package io.keylake.spark.reducers.functions;

import io.keylake.spark.reducers.functions.ColumnFunctions.Named;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * Contributions to the reducer Moments, and what it says; of few values the same as Spark's
 * functions say.
 */
final class MomentFunctions {
  private static final List<String> SUMS = List.of("sum", "sum2", "sum3", "sum4");
  private static final String COUNT = "count";
  private static final StructType TYPE =
      new StructType()
          .add(COUNT, DataTypes.LongType)
          .add("sum", DataTypes.DoubleType)
          .add("sum2", DataTypes.DoubleType)
          .add("sum3", DataTypes.DoubleType)
          .add("sum4", DataTypes.DoubleType);
  private static final MathContext DIGITS = new MathContext(60);

  private MomentFunctions() {}

  /** A statistic that is computed from sums of powers. */
  private enum Asked {
    AVG,
    VAR_POP,
    VAR_SAMP,
    STDDEV_POP,
    STDDEV_SAMP,
    SKEWNESS,
    KURTOSIS
  }

  static List<Named> all() {
    List<Named> functions = new ArrayList<>();
    functions.add(
        new Named("moments_of", "moments_of(value)", "a number", MomentFunctions::contribution));
    for (Asked asked : Asked.values()) {
      String name = "moments_" + asked.name().toLowerCase(Locale.ROOT);
      functions.add(
          new Named(
              name,
              name + "(column)",
              "a struct of a bigint 'count' and the doubles 'sum', 'sum2', 'sum3' and 'sum4'",
              (of, arguments) -> reader(of, asked, arguments)));
    }
    return functions;
  }

  private static @Nullable ColumnFunction contribution(String name, List<DataType> arguments) {
    if (arguments.size() != 1 || !(arguments.get(0) instanceof NumericType)) {
      return null;
    }
    return new ColumnFunction(name, TYPE, row -> powers(row.getDouble(0)), DataTypes.DoubleType);
  }

  private static InternalRow powers(double value) {
    double square = value * value;
    return new GenericInternalRow(
        new Object[] {1L, value, square, square * value, square * square});
  }

  private static @Nullable ColumnFunction reader(
      String name, Asked asked, List<DataType> arguments) {
    if (arguments.size() != 1 || !(arguments.get(0) instanceof StructType type)) {
      return null;
    }
    boolean fits = type.length() == TYPE.length();
    for (String member : TYPE.fieldNames()) {
      fits =
          fits
              && type.getFieldIndex(member).isDefined()
              && type.apply(member).dataType().equals(TYPE.apply(member).dataType());
    }
    if (!fits) {
      return null;
    }
    int count = type.fieldIndex(COUNT);
    int[] sums = SUMS.stream().mapToInt(type::fieldIndex).toArray();
    return new ColumnFunction(
        name, DataTypes.DoubleType, row -> read(asked, row.getStruct(0, 5), count, sums), type);
  }

  private static @Nullable Object read(Asked asked, InternalRow row, int count, int[] sums) {
    long values = row.getLong(count);
    if (values <= 0) {
      return null;
    }
    double[] of = new double[sums.length];
    for (int i = 0; i < of.length; i++) {
      of[i] = row.getDouble(sums[i]);
    }
    if (asked == Asked.AVG) {
      return of[0] / values;
    }
    for (double sum : of) {
      if (!Double.isFinite(sum)) {
        return Double.NaN;
      }
    }
    return central(asked, new BigDecimal(values), of);
  }

  private static @Nullable Object central(Asked asked, BigDecimal count, double[] of) {
    BigDecimal mean = new BigDecimal(of[0]).divide(count, DIGITS);
    double values = count.doubleValue();
    double second = second(of, mean).max(BigDecimal.ZERO).doubleValue();
    return switch (asked) {
      case AVG -> mean.doubleValue();
      case VAR_POP -> second / values;
      case STDDEV_POP -> Math.sqrt(second / values);
      case VAR_SAMP -> values == 1 ? null : (Object) (second / (values - 1));
      case STDDEV_SAMP -> values == 1 ? null : (Object) Math.sqrt(second / (values - 1));
      case SKEWNESS ->
          second == 0
              ? null
              : (Object)
                  (Math.sqrt(values) * third(of, mean) / Math.sqrt(second * second * second));
      case KURTOSIS ->
          second == 0 ? null : (Object) (values * fourth(of, mean, count) / (second * second) - 3);
    };
  }

  /** The sum of the squares of what the values differ from their mean by. */
  private static BigDecimal second(double[] of, BigDecimal mean) {
    return new BigDecimal(of[1]).subtract(mean.multiply(new BigDecimal(of[0])), DIGITS);
  }

  private static double third(double[] of, BigDecimal mean) {
    BigDecimal sum = new BigDecimal(of[0]);
    return new BigDecimal(of[2])
        .subtract(mean.multiply(new BigDecimal(of[1])).multiply(BigDecimal.valueOf(3)), DIGITS)
        .add(mean.pow(2).multiply(sum).multiply(BigDecimal.valueOf(2)), DIGITS)
        .doubleValue();
  }

  private static double fourth(double[] of, BigDecimal mean, BigDecimal count) {
    return new BigDecimal(of[3])
        .subtract(mean.multiply(new BigDecimal(of[2])).multiply(BigDecimal.valueOf(4)), DIGITS)
        .add(mean.pow(2).multiply(new BigDecimal(of[1])).multiply(BigDecimal.valueOf(6)), DIGITS)
        .subtract(mean.pow(4).multiply(count).multiply(BigDecimal.valueOf(3)), DIGITS)
        .doubleValue();
  }
}
