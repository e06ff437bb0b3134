package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import java.util.Comparator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.jspecify.annotations.Nullable;

/** The smallest or the largest contribution; NaN is the largest number, and -0.0 is below 0.0. */
final class Extreme extends Accumulator {
  private final DataType type;
  private final int sign;
  private final Comparator<Object> order;
  private @Nullable Object extreme;

  /**
   * @param sign 1 for the largest, -1 for the smallest
   */
  Extreme(DataType type, int sign) {
    this.type = type;
    this.sign = sign;
    this.order = order(type);
  }

  /** The order of values; NaN is above all numbers, and -0.0 below 0.0. */
  static Comparator<Object> order(DataType type) {
    if (type instanceof DoubleType) {
      return (a, b) -> Double.compare((Double) a, (Double) b);
    }
    if (type instanceof FloatType) {
      return (a, b) -> Float.compare((Float) a, (Float) b);
    }
    return TypeUtils.getInterpretedOrdering(type);
  }

  @Override
  protected void reset() {
    extreme = null;
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    Object value = row.get(ordinal, type);
    if (extreme == null || sign * order.compare(value, extreme) > 0) {
      extreme = InternalRow.copyValue(value);
    }
  }

  @Override
  public @Nullable Object value() {
    return extreme;
  }
}
