package io.keylake.spark.reducers.builtin;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.FloatType;
import org.jspecify.annotations.Nullable;

/**
 * The sum of floating-point numbers, rounded once, at the end.
 *
 * <ol>
 *   <li>The exact sum is kept as an expansion: doubles of increasing size whose bits do not overlap
 *       (Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997). Few are needed.
 *   <li>Where doubles overflow on the way, it is kept as a whole number of units of the smallest
 *       double from there on.
 *   <li>NaN and the infinities are beside it: they win.
 * </ol>
 *
 * <p>The state is canonical: the sum rounded to a double, then what is left of it rounded, and so
 * on. Its first byte says in which of the two ways it is kept, or that it is a single number.
 */
final class FloatingSum extends Sum {
  private static final byte NUMBER = 0;
  private static final byte EXPANSION = 1;
  private static final byte UNITS = 2;
  private static final BigDecimal UNIT = new BigDecimal(Double.MIN_VALUE);
  private static final int FRACTION_BITS = 52;
  private static final long FRACTION = (1L << FRACTION_BITS) - 1;

  private final boolean isFloat;
  private double[] parts = new double[4];
  private double[] spare = new double[4];
  private int size;
  private @Nullable BigInteger units;
  private boolean isNan;
  private boolean hasPlusInfinity;
  private boolean hasMinusInfinity;
  private boolean hasOtherThanMinusZero;

  FloatingSum(DataType type) {
    this.isFloat = type instanceof FloatType;
  }

  @Override
  protected void reset() {
    size = 0;
    units = null;
    isNan = false;
    hasPlusInfinity = false;
    hasMinusInfinity = false;
    hasOtherThanMinusZero = false;
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    add(isFloat ? row.getFloat(ordinal) : row.getDouble(ordinal));
  }

  @Override
  protected void subtract(SpecializedGetters row, int ordinal) {
    add(isFloat ? -row.getFloat(ordinal) : -row.getDouble(ordinal));
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    if (state == null) {
      add(row, ordinal);
    } else {
      mergeWhole(state);
    }
  }

  void add(double value) {
    if (value == 0) {
      hasOtherThanMinusZero |= 1 / value > 0;
      return;
    }
    hasOtherThanMinusZero = true;
    if (value != value) {
      isNan = true;
    } else if (Double.isInfinite(value)) {
      hasPlusInfinity |= value > 0;
      hasMinusInfinity |= value < 0;
    } else if (units != null) {
      units = units.add(unitsOf(value));
    } else {
      grow(value);
    }
  }

  /** Adds a number to the expansion; the error of each addition is a double, too. */
  private void grow(double value) {
    double carried = value;
    int kept = 0;
    for (int i = 0; i < size; i++) {
      double part = parts[i];
      double sum = carried + part;
      if (Double.isInfinite(sum)) {
        goOverToUnits(value);
        return;
      }
      double added = sum - part;
      double error = (part - (sum - added)) + (carried - added);
      if (error != 0) {
        scratch(kept++, error);
      }
      carried = sum;
    }
    if (carried != 0) {
      scratch(kept++, carried);
    }
    double[] before = parts;
    parts = spare;
    spare = before;
    size = kept;
  }

  /** The old parts stay whole until the new ones are complete. */
  private void scratch(int at, double part) {
    if (at == spare.length) {
      spare = Arrays.copyOf(spare, 2 * at);
    }
    spare[at] = part;
  }

  private void goOverToUnits(double value) {
    units = inUnits().add(unitsOf(value));
    size = 0;
  }

  private static BigInteger unitsOf(double value) {
    long bits = Double.doubleToRawLongBits(value);
    int exponent = (int) (bits >>> FRACTION_BITS) & 0x7FF;
    long fraction = bits & FRACTION;
    BigInteger size =
        exponent == 0
            ? BigInteger.valueOf(fraction)
            : BigInteger.valueOf(fraction | 1L << FRACTION_BITS).shiftLeft(exponent - 1);
    return bits < 0 ? size.negate() : size;
  }

  @Override
  void addZero() {
    took();
    hasOtherThanMinusZero = true;
  }

  @Override
  public @Nullable Object value() {
    if (isEmpty()) {
      return null;
    }
    return isFloat ? (Object) roundedToFloat() : (Object) rounded();
  }

  private double rounded() {
    if (isNotFinite()) {
      return notFinite();
    }
    if (units != null) {
      return units.signum() == 0 ? 0.0 : exact(units).doubleValue();
    }
    return size == 0 ? zero() : rounded(parts, size);
  }

  /** Rounded once: a double that lies half-way between two floats says nothing of what is left. */
  private float roundedToFloat() {
    double high = rounded();
    float near = (float) high;
    if (isNotFinite() || (double) near == high || (units == null && size <= 1)) {
      return near;
    }
    if (units != null || Float.isInfinite(near)) {
      return exact(inUnits()).floatValue();
    }
    float other = high > near ? Math.nextUp(near) : Math.nextDown(near);
    boolean isHalfWay = ((double) near + other) / 2 == high;
    double left = isHalfWay ? leftOf(high) : 0;
    return left == 0 ? near : left > 0 ? Math.max(near, other) : Math.min(near, other);
  }

  /** The rest of the expansion beside its nearest double, rounded. */
  private double leftOf(double high) {
    double[] all = Arrays.copyOf(parts, size);
    grow(-high);
    double left = size == 0 ? 0 : rounded(parts, size);
    restore(all);
    return left;
  }

  private void restore(double[] all) {
    parts = all;
    size = all.length;
  }

  private boolean isNotFinite() {
    return isNan || hasPlusInfinity || hasMinusInfinity;
  }

  private double notFinite() {
    if (isNan || (hasPlusInfinity && hasMinusInfinity)) {
      return Double.NaN;
    }
    return hasPlusInfinity ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
  }

  private double zero() {
    return hasOtherThanMinusZero ? 0.0 : -0.0;
  }

  private static BigDecimal exact(BigInteger units) {
    return new BigDecimal(units).multiply(UNIT);
  }

  private BigInteger inUnits() {
    if (units != null) {
      return units;
    }
    BigInteger sum = BigInteger.ZERO;
    for (int i = 0; i < size; i++) {
      sum = sum.add(unitsOf(parts[i]));
    }
    return sum;
  }

  /**
   * The nearest double, half to even: the parts from the largest down, until one does not fit;
   * where that is half a last digit, the next part says which way to round.
   */
  private static double rounded(double[] parts, int size) {
    int at = size - 1;
    double high = parts[at];
    double low = 0;
    while (at > 0 && low == 0) {
      double before = high;
      double part = parts[--at];
      high = before + part;
      low = part - (high - before);
    }
    boolean goesOn = at > 0 && ((low < 0 && parts[at - 1] < 0) || (low > 0 && parts[at - 1] > 0));
    if (goesOn) {
      double twice = low * 2;
      double other = high + twice;
      if (twice == other - high) {
        high = other;
      }
    }
    return high;
  }

  @Override
  public byte @Nullable [] state() {
    if (isEmpty() || isNotFinite() || (units == null && size == 0)) {
      return null;
    }
    if (units == null && size == 1) {
      return isShown(parts[0]) ? null : bytes(NUMBER, parts[0]);
    }
    byte[] whole = canonical();
    return whole[0] == NUMBER && isShown(ByteBuffer.wrap(whole).getDouble(1)) ? null : whole;
  }

  /** A sum that is a double is also what the value says. */
  private boolean isShown(double sum) {
    return !isFloat || (float) sum == sum;
  }

  @Override
  byte[] wholeState() {
    if (isNotFinite()) {
      return bytes(NUMBER, notFinite());
    }
    return units == null && size == 0 ? bytes(NUMBER, zero()) : canonical();
  }

  private byte[] canonical() {
    double[] found = units == null ? expansion() : expansionOf(units);
    if (found.length == 0) {
      byte[] whole = inUnits().toByteArray();
      return ByteBuffer.allocate(1 + whole.length).put(UNITS).put(whole).array();
    }
    return bytes(found.length == 1 ? NUMBER : EXPANSION, found);
  }

  /** The sum rounded, then what is left of it rounded, and so on; empty where it is no double. */
  private double[] expansion() {
    double[] all = Arrays.copyOf(parts, size);
    double[] found = new double[size];
    int count = 0;
    while (size > 0) {
      double next = rounded(parts, size);
      if (Double.isInfinite(next)) {
        restore(all);
        return new double[0];
      }
      if (count == found.length) {
        found = Arrays.copyOf(found, 2 * count);
      }
      found[count++] = next;
      grow(-next);
    }
    restore(all);
    return Arrays.copyOf(found, count);
  }

  private static double[] expansionOf(BigInteger sum) {
    BigInteger left = sum;
    List<Double> found = new ArrayList<>();
    do {
      double next = left.signum() == 0 ? 0.0 : exact(left).doubleValue();
      if (Double.isInfinite(next)) {
        return new double[0];
      }
      found.add(next);
      left = left.subtract(unitsOf(next));
    } while (left.signum() != 0);
    return found.stream().mapToDouble(Double::doubleValue).toArray();
  }

  private static byte[] bytes(byte form, double... numbers) {
    ByteBuffer bytes = ByteBuffer.allocate(1 + Double.BYTES * numbers.length).put(form);
    for (double number : numbers) {
      bytes.putDouble(number);
    }
    return bytes.array();
  }

  @Override
  void mergeWhole(byte[] state) {
    took();
    if (state[0] == UNITS) {
      BigInteger added = new BigInteger(state, 1, state.length - 1);
      hasOtherThanMinusZero = true;
      units = inUnits().add(added);
      size = 0;
      return;
    }
    ByteBuffer numbers = ByteBuffer.wrap(state, 1, state.length - 1);
    while (numbers.hasRemaining()) {
      add(numbers.getDouble());
    }
  }
}
