package io.keylake.spark.keys;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The place of a row in the order of several columns, as one number. Of two rows, the one with the
 * smaller number comes first; where the numbers are equal, the columns decide. A sort by the number
 * and then by the columns is the same order, and seldom has to look at a column.
 *
 * <p>The number is a string of bits, column after column as far as there is room, and a one that
 * ends it. No value has bits that those of another value begin with, so that the bits of a column
 * count only where all columns before it are equal.
 *
 * <pre>
 *   boolean   1 bit
 *   numbers   the sign; how many bits the value has, in 5 or 6; these bits without the first
 *   texts     a one and 8 bits for each byte; a zero
 * </pre>
 */
public final class OrderPrefix {
  /**
   * The prefix of a key without a column. The first bit stays zero, so that signed numbers are in
   * order.
   */
  static final long EMPTY = 1L << 62;

  private static final int BITS_OF_LENGTH = 6;
  private static final int BITS_OF_INT_LENGTH = 5;

  private OrderPrefix() {}

  /**
   * The number as an expression; null where a column is null.
   *
   * @param columns in whose order rows are sorted
   */
  public static Expression of(List<? extends Expression> columns) {
    Expression prefix = Literal.create(EMPTY, DataTypes.LongType);
    for (Expression column : columns) {
      boolean isUnscaled =
          column.dataType() instanceof DecimalType decimal
              && decimal.precision() <= Decimal.MAX_LONG_DIGITS();
      prefix = call(List.of(prefix, isUnscaled ? new UnscaledValue(column) : column));
    }
    return prefix;
  }

  private static Expression call(List<Expression> arguments) {
    return new StaticInvoke(
        OrderPrefix.class,
        DataTypes.LongType,
        "with",
        CollectionConverters.asScala(arguments).toSeq(),
        CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(),
        true,
        false,
        true,
        Option.empty());
  }

  public static long with(long prefix, boolean value) {
    return with(prefix, value ? 1 : 0, 1);
  }

  public static long with(long prefix, int value) {
    return withNumber(prefix, value, BITS_OF_INT_LENGTH);
  }

  public static long with(long prefix, long value) {
    return withNumber(prefix, value, BITS_OF_LENGTH);
  }

  /** One of more digits than a long has: rounded, so that nothing can follow. */
  public static long with(long prefix, Decimal value) {
    long bits = Double.doubleToLongBits(value.toDouble() + 0.0); // there is one zero
    return with(prefix, bits < 0 ? ~bits : bits | Long.MIN_VALUE, Long.SIZE);
  }

  public static long with(long prefix, UTF8String value) {
    long longer = prefix;
    for (int i = 0; i < value.numBytes() && !isFull(longer); i++) {
      longer = withByte(longer, value.getByte(i));
    }
    return with(longer, 0, 1);
  }

  public static long with(long prefix, byte[] value) {
    long longer = prefix;
    for (int i = 0; i < value.length && !isFull(longer); i++) {
      longer = withByte(longer, value[i]);
    }
    return with(longer, 0, 1);
  }

  private static long withByte(long prefix, byte value) {
    return with(prefix, 1 << Byte.SIZE | value & 0xFF, Byte.SIZE + 1);
  }

  private static long withNumber(long prefix, long value, int bitsOfLength) {
    boolean isNegative = value < 0;
    long magnitude = isNegative ? ~value : value;
    int length = Long.SIZE - Long.numberOfLeadingZeros(magnitude);
    long head = 1L << bitsOfLength | length;
    int bits = Math.max(length - 1, 0);
    long tail = magnitude & (1L << bits) - 1;
    return isNegative
        ? with(with(prefix, ~head, bitsOfLength + 1), ~tail, bits)
        : with(with(prefix, head, bitsOfLength + 1), tail, bits);
  }

  private static boolean isFull(long prefix) {
    return (prefix & 1) != 0;
  }

  /** Adds the last bits of a number, of which those that have no room are left out. */
  private static long with(long prefix, long value, int bits) {
    int room = Long.numberOfTrailingZeros(prefix);
    int taken = Math.min(room, bits);
    if (taken == 0) {
      return prefix;
    }
    long content = prefix & prefix - 1;
    long added = value << Long.SIZE - bits >>> Long.SIZE - taken;
    int end = room - taken;
    return content | added << end + 1 | 1L << end;
  }
}
