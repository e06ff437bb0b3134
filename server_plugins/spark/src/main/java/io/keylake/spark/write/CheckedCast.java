package io.keylake.spark.write;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.keys.ColumnTypes;
import io.keylake.tables.KeylakeException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Concat;
import org.apache.spark.sql.catalyst.expressions.CreateMap;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Brings a column of a frame to the table's type without ever changing a value. Numbers are cast
 * there and back, and a value that does not come back the same is an error that shows it; between
 * other types nothing is converted.
 */
public final class CheckedCast {
  private CheckedCast() {}

  public static Expression of(Expression value, String column, DataType target) {
    DataType given = value.dataType();
    if (DataType.equalsIgnoreNullability(given, target)) {
      return value;
    }
    if (given instanceof NullType) {
      return cast(value, target);
    }
    if (given instanceof NumericType
        && target instanceof NumericType
        && isSameKind(given, target)) {
      return widens(given, target) ? cast(value, target) : thereAndBack(value, column, target);
    }
    if (given instanceof StringType && target instanceof StringType) {
      return cast(value, target); // char, varchar and collated strings
    }
    if (nestedWidens(given, target)) {
      return cast(value, target);
    }
    if (value instanceof Literal literal
        && literal.value() instanceof Decimal number
        && isShownBy(number, target)) {
      return ofShown(value, target);
    }
    throw new KeylakeException(
        BAD_ROWS,
        "column '%s' is %s in the table and %s in the frame, and values are never changed to fit; cast it yourself"
            .formatted(column, ColumnTypes.word(target), ColumnTypes.word(given)));
  }

  /** The fraction for decimals of which each is {@linkplain #isShownBy shown} by one. */
  public static Expression ofShown(Expression value, DataType target) {
    return cast(value, target);
  }

  /**
   * A number in a statement is a decimal to Spark; whoever writes 0.1 means the double that shows
   * so.
   */
  public static boolean isShownBy(Decimal number, DataType target) {
    if (!isBinary(target)) {
      return false;
    }
    BigDecimal said = number.toJavaBigDecimal();
    String shown =
        target instanceof DoubleType
            ? Double.toString(said.doubleValue())
            : Float.toString(said.floatValue());
    return new BigDecimal(shown).compareTo(said) == 0;
  }

  private static Expression thereAndBack(Expression value, String column, DataType target) {
    Expression there = cast(value, target);
    Expression back = cast(there, value.dataType());
    Expression refusal =
        refusal(
            BAD_ROWS,
            target,
            List.of(
                "column '%s' is %s and cannot hold the %s value "
                    .formatted(
                        column, ColumnTypes.word(target), ColumnTypes.word(value.dataType())),
                value,
                " without changing it; no row was written."));
    return new If(new And(new EqualNullSafe(back, value), isInRange(value, there)), there, refusal);
  }

  /**
   * An error at run time, in the place of a value.
   *
   * @param type of the value
   * @param parts of the sentence: texts, and expressions that are shown as text
   */
  public static Expression refusal(KeylakeException.Kind kind, DataType type, List<Object> parts) {
    List<Expression> texts = new ArrayList<>();
    texts.add(Literal.create(KeylakeException.line(kind, ""), DataTypes.StringType));
    for (Object part : parts) {
      texts.add(
          part instanceof Expression value
              ? cast(value, DataTypes.StringType)
              : Literal.create(part, DataTypes.StringType));
    }
    Expression sentence = new Concat(CollectionConverters.asScala(texts).toSeq());
    Expression parameters =
        new CreateMap(
            CollectionConverters.asScala(
                    List.<Expression>of(
                        Literal.create("errorMessage", DataTypes.StringType), sentence))
                .toSeq(),
            false);
    return new RaiseError(
        Literal.create("USER_RAISED_EXCEPTION", DataTypes.StringType), parameters, type);
  }

  /** A binary fraction is no decimal: there is no decimal for it that is not a choice. */
  private static boolean isSameKind(DataType a, DataType b) {
    return !(a instanceof DecimalType && isBinary(b)) && !(isBinary(a) && b instanceof DecimalType);
  }

  private static boolean isBinary(DataType type) {
    return type instanceof FloatType || type instanceof DoubleType;
  }

  /**
   * Casts from binary fractions stop at the largest whole number, which such a fraction cannot be:
   * the way there and back meets itself in that one value.
   */
  private static Expression isInRange(Expression value, Expression there) {
    Expression whole = isBinary(value.dataType()) ? there : value;
    Expression fraction = isBinary(value.dataType()) ? value : there;
    boolean isExact =
        !isBinary(fraction.dataType())
            || wholeBits(whole.dataType()) == 0
            || (wholeBits(whole.dataType()) == 32 && fraction.dataType() instanceof DoubleType);
    if (isExact) {
      return Literal.TrueLiteral();
    }
    Object largest =
        wholeBits(whole.dataType()) == 64 ? (Object) Long.MAX_VALUE : (Object) Integer.MAX_VALUE;
    Expression isLargest = new EqualNullSafe(whole, Literal.create(largest, whole.dataType()));
    return new Not(isLargest);
  }

  private static Expression cast(Expression value, DataType target) {
    return new Cast(value, target, Option.apply("UTC"), EvalMode.LEGACY());
  }

  /** Whether every value of one number type is a value of the other. */
  private static boolean widens(DataType given, DataType target) {
    int bits = wholeBits(given);
    if (bits > 0 && wholeBits(target) >= bits) {
      return true;
    }
    if (target instanceof DecimalType decimal) {
      if (given instanceof DecimalType from) {
        return decimal.scale() >= from.scale()
            && decimal.precision() - decimal.scale() >= from.precision() - from.scale();
      }
      return bits > 0 && decimal.precision() - decimal.scale() >= digits(bits);
    }
    if (target.equals(DataTypes.DoubleType)) {
      return given.equals(DataTypes.FloatType) || (bits > 0 && bits <= 32);
    }
    return target.equals(DataTypes.FloatType) && bits > 0 && bits <= 16;
  }

  private static int wholeBits(DataType type) {
    if (type instanceof ByteType) {
      return 8;
    }
    if (type instanceof ShortType) {
      return 16;
    }
    if (type instanceof IntegerType) {
      return 32;
    }
    return type instanceof LongType ? 64 : 0;
  }

  private static int digits(int bits) {
    return switch (bits) {
      case 8 -> 3;
      case 16 -> 5;
      case 32 -> 10;
      default -> 19;
    };
  }

  private static boolean nestedWidens(DataType given, DataType target) {
    if (DataType.equalsIgnoreNullability(given, target)
        || given instanceof NullType
        || (given instanceof NumericType
            && target instanceof NumericType
            && widens(given, target))) {
      return true;
    }
    if (given instanceof ArrayType from && target instanceof ArrayType to) {
      return nestedWidens(from.elementType(), to.elementType());
    }
    if (given instanceof MapType from && target instanceof MapType to) {
      return nestedWidens(from.keyType(), to.keyType())
          && nestedWidens(from.valueType(), to.valueType());
    }
    if (given instanceof StructType from && target instanceof StructType to) {
      return structWidens(from.fields(), to.fields());
    }
    return false;
  }

  private static boolean structWidens(StructField[] from, StructField[] to) {
    if (from.length != to.length) {
      return false;
    }
    for (int i = 0; i < from.length; i++) {
      if (!from[i].name().equals(to[i].name())
          || !nestedWidens(from[i].dataType(), to[i].dataType())) {
        return false;
      }
    }
    return true;
  }
}
