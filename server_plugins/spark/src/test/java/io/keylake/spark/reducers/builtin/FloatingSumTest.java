package io.keylake.spark.reducers.builtin;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.spark.reducers.Accumulator;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;

/** Sums of doubles and floats against BigDecimal, in any order and any cuts. */
class FloatingSumTest {

  /** What is left of some numbers once they are stored. */
  private record Stored(Object value, byte[] state) {}

  @Test
  void anyOrderAndAnyCutsGiveTheRoundedExactSum() {
    for (int seed = 0; seed < 3000; seed++) {
      Random random = new Random(seed);
      DataType type = random.nextBoolean() ? DataTypes.DoubleType : DataTypes.FloatType;
      List<Object> numbers = new ArrayList<>();
      for (int i = 1 + random.nextInt(12); i > 0; i--) {
        numbers.add(drawn(random, type));
      }
      Stored whole = folded(type, numbers);
      assertEquals(exact(type, numbers), whole.value(), "seed " + seed + " " + numbers);
      Collections.shuffle(numbers, random);
      Stored cut = combined(type, cut(random, type, numbers));
      assertEquals(whole.value(), cut.value(), "seed " + seed + " " + numbers);
      assertArrayEquals(whole.state(), cut.state(), "seed " + seed + " " + numbers);
    }
  }

  /** Sums of parts, some of them combined again. */
  private static List<Stored> cut(Random random, DataType type, List<Object> numbers) {
    List<Stored> parts = new ArrayList<>();
    int from = 0;
    while (from < numbers.size()) {
      int to = from + 1 + random.nextInt(numbers.size() - from);
      parts.add(folded(type, numbers.subList(from, to)));
      from = to;
    }
    if (parts.size() > 2) {
      parts.add(0, combined(type, List.of(parts.remove(0), parts.remove(0))));
    }
    return parts;
  }

  private static Object drawn(Random random, DataType type) {
    double number =
        switch (random.nextInt(8)) {
          case 0 -> 0.0;
          case 1 -> -0.0;
          case 2 -> random.nextInt(100) / 10.0;
          case 3 -> (random.nextBoolean() ? 1 : -1) * Double.MAX_VALUE;
          case 4 -> (random.nextBoolean() ? 1 : -1) * Double.MIN_VALUE * random.nextInt(5);
          case 5 -> Math.scalb(random.nextDouble() - 0.5, random.nextInt(600) - 300);
          case 6 -> random.nextInt(30) == 0 ? Double.NaN : 0x1p53 + random.nextInt(4);
          default -> random.nextInt(30) == 0 ? Double.NEGATIVE_INFINITY : random.nextGaussian();
        };
    if (type.equals(DataTypes.DoubleType)) {
      return number;
    }
    return Math.abs(number) == Double.MAX_VALUE
        ? Math.copySign(Float.MAX_VALUE, (float) number)
        : (float) number;
  }

  private static Object exact(DataType type, List<Object> numbers) {
    double special = 0;
    boolean isSpecial = false;
    boolean hasPositiveZeroOrMore = false;
    BigDecimal sum = BigDecimal.ZERO;
    for (Object each : numbers) {
      double number = ((Number) each).doubleValue();
      if (Double.isFinite(number)) {
        sum = sum.add(new BigDecimal(number));
        hasPositiveZeroOrMore |= !(number == 0 && 1 / number < 0);
      } else {
        special += number;
        isSpecial = true;
      }
    }
    boolean isDouble = type.equals(DataTypes.DoubleType);
    if (isSpecial) {
      return isDouble ? (Object) special : (Object) (float) special;
    }
    if (sum.signum() == 0) {
      double zero = hasPositiveZeroOrMore ? 0.0 : -0.0;
      return isDouble ? (Object) zero : (Object) (float) zero;
    }
    return isDouble ? (Object) sum.doubleValue() : (Object) sum.floatValue();
  }

  private static Stored folded(DataType type, List<Object> numbers) {
    Accumulator sum = new FloatingSum(type);
    numbers.forEach(number -> sum.contribute(row(number), 0));
    return new Stored(sum.value(), sum.state());
  }

  private static Stored combined(DataType type, List<Stored> parts) {
    Accumulator sum = new FloatingSum(type);
    parts.forEach(part -> sum.combine(row(part.value()), 0, part.state()));
    return new Stored(sum.value(), sum.state());
  }

  private static InternalRow row(Object value) {
    return new GenericInternalRow(new Object[] {value});
  }
}
