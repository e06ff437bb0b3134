package io.keylake.spark.reducers.builtin;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.jspecify.annotations.Nullable;

/**
 * The sum of whole numbers, or of decimals of one scale, counted in units of their last digit. A
 * sum that the type cannot hold has no value, and is all in its state: later contributions may
 * bring it back.
 */
final class ExactSum extends Sum {
  private final DataType type;
  private final boolean saturates;
  private final BigInteger least;
  private final BigInteger most;
  private final long leastSmall;
  private final long mostSmall;
  private long small;
  private @Nullable BigInteger large;

  ExactSum(DataType type) {
    this(type, false);
  }

  /**
   * @param saturates whether the value of a sum that the type cannot hold is the nearest one
   */
  ExactSum(DataType type, boolean saturates) {
    this.type = type;
    this.saturates = saturates;
    if (type instanceof DecimalType decimal) {
      this.most = BigInteger.TEN.pow(decimal.precision()).subtract(BigInteger.ONE);
      this.least = most.negate();
    } else {
      boolean isInt = type instanceof IntegerType;
      this.least = BigInteger.valueOf(isInt ? Integer.MIN_VALUE : Long.MIN_VALUE);
      this.most = BigInteger.valueOf(isInt ? Integer.MAX_VALUE : Long.MAX_VALUE);
    }
    this.leastSmall = least.max(BigInteger.valueOf(Long.MIN_VALUE)).longValueExact();
    this.mostSmall = most.min(BigInteger.valueOf(Long.MAX_VALUE)).longValueExact();
  }

  @Override
  protected void reset() {
    small = 0;
    large = null;
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    if (type instanceof DecimalType decimal && decimal.precision() > Decimal.MAX_LONG_DIGITS()) {
      add(unscaled(row, ordinal, decimal));
    } else {
      add(number(row, ordinal));
    }
  }

  @Override
  protected void subtract(SpecializedGetters row, int ordinal) {
    add(
        type instanceof DecimalType decimal && decimal.precision() > Decimal.MAX_LONG_DIGITS()
            ? unscaled(row, ordinal, decimal).negate()
            : BigInteger.valueOf(number(row, ordinal)).negate());
  }

  private static BigInteger unscaled(SpecializedGetters row, int ordinal, DecimalType type) {
    Decimal value = row.getDecimal(ordinal, type.precision(), type.scale());
    return value.toJavaBigDecimal().unscaledValue();
  }

  private long number(SpecializedGetters row, int ordinal) {
    if (type instanceof DecimalType decimal) {
      return row.getDecimal(ordinal, decimal.precision(), decimal.scale()).toUnscaledLong();
    }
    return type instanceof IntegerType ? row.getInt(ordinal) : row.getLong(ordinal);
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    if (state == null) {
      add(row, ordinal);
    } else {
      mergeWhole(state);
    }
  }

  private void add(long value) {
    long sum = small + value;
    if (large != null || ((small ^ sum) & (value ^ sum)) < 0) {
      add(BigInteger.valueOf(value));
    } else {
      small = sum;
    }
  }

  private void add(BigInteger value) {
    large = sum().add(value);
  }

  @Override
  void addZero() {
    took();
  }

  @Override
  public @Nullable Object value() {
    if (isEmpty()) {
      return null;
    }
    if (!fits()) {
      return saturates ? (Object) (sum().signum() < 0 ? leastSmall : mostSmall) : null;
    }
    if (type instanceof DecimalType decimal) {
      return large == null && decimal.precision() <= Decimal.MAX_LONG_DIGITS()
          ? Decimal.apply(small, decimal.precision(), decimal.scale())
          : decimal(decimal, sum());
    }
    long sum = large == null ? small : large.longValueExact();
    return type instanceof IntegerType ? (Object) (int) sum : (Object) sum;
  }

  private static Decimal decimal(DecimalType type, BigInteger unscaled) {
    return Decimal.apply(new BigDecimal(unscaled, type.scale()), type.precision(), type.scale());
  }

  private boolean fits() {
    return large == null
        ? small >= leastSmall && small <= mostSmall
        : large.compareTo(least) >= 0 && large.compareTo(most) <= 0;
  }

  private BigInteger sum() {
    return large == null ? BigInteger.valueOf(small) : large;
  }

  @Override
  public byte @Nullable [] state() {
    return isEmpty() || fits() ? null : wholeState();
  }

  @Override
  byte[] wholeState() {
    return sum().toByteArray();
  }

  @Override
  void mergeWhole(byte[] state) {
    add(new BigInteger(state));
    took();
  }
}
