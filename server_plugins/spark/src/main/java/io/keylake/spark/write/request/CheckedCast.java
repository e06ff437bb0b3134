package io.keylake.spark.write.request;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.keys.ColumnTypes;
import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.ArrayTransform;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Concat;
import org.apache.spark.sql.catalyst.expressions.CreateMap;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MapFromArrays;
import org.apache.spark.sql.catalyst.expressions.MapKeys;
import org.apache.spark.sql.catalyst.expressions.MapValues;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
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
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Brings a column of a frame to the table's type without ever changing a value:
 *
 * <ol>
 *   <li>A number of another type, and a date for a timestamp, is cast there and back. One that does
 *       not come back the same is an error at run time that shows it.
 *   <li>Members of structs are matched by name, as the session matches names, in any order. All of
 *       them have to be there. Those without names of their own, as of {@code struct(1, 2)}, are
 *       matched by their place where columns are.
 *   <li>Elements of arrays, and keys and values of maps, are brought to their types one by one.
 *   <li>Between other types nothing is converted.
 * </ol>
 */
public final class CheckedCast {
  private final boolean byPlace;

  private CheckedCast(boolean byPlace) {
    this.byPlace = byPlace;
  }

  /** A column that is matched with the table's by its name. */
  public static Expression of(Expression value, String column, DataType target) {
    return new CheckedCast(false).cast(value, column, target);
  }

  /** A column that is matched with the table's by its place. */
  public static Expression ofPlace(Expression value, String column, DataType target) {
    return new CheckedCast(true).cast(value, column, target);
  }

  private Expression cast(Expression value, String column, DataType target) {
    DataType given = value.dataType();
    if (DataType.equalsIgnoreNullability(given, target)) {
      return value;
    }
    if (nestedWidens(given, target)) {
      return as(value, target);
    }
    if (given instanceof NumericType && target instanceof NumericType) {
      return thereAndBack(value, column, target);
    }
    if (given instanceof DateType && isTime(target)
        || isTime(given) && target instanceof DateType) {
      return thereAndBack(value, column, target);
    }
    if (given instanceof StringType && target instanceof StringType) {
      return as(value, target); // char, varchar and collated strings
    }
    if (given instanceof StructType from && target instanceof StructType to) {
      return struct(value, column, from, to);
    }
    if (given instanceof ArrayType from && target instanceof ArrayType to) {
      return array(value, column, from.elementType(), from.containsNull(), to.elementType());
    }
    if (given instanceof MapType from && target instanceof MapType to) {
      return map(value, column, from, to);
    }
    throw new KeylakeException(
        BAD_ROWS,
        "column '%s' is %s in the table and %s in the frame, and values are never changed to fit; cast it yourself"
            .formatted(column, word(target), word(given)));
  }

  private static String word(DataType type) {
    boolean isNested =
        type instanceof StructType || type instanceof ArrayType || type instanceof MapType;
    return isNested ? type.sql() : ColumnTypes.word(type);
  }

  private Expression struct(Expression value, String column, StructType from, StructType to) {
    int[] places = places(from, to, column);
    List<Expression> parts = new ArrayList<>();
    for (int i = 0; i < places.length; i++) {
      StructField member = to.fields()[i];
      Expression given =
          new GetStructField(value, places[i], Option.apply(from.fields()[places[i]].name()));
      parts.add(Literal.create(member.name(), DataTypes.StringType));
      parts.add(cast(given, column + "." + member.name(), member.dataType()));
    }
    Expression made = new CreateNamedStruct(sequence(parts));
    return value.nullable()
        ? new If(new IsNull(value), Literal.create(null, made.dataType()), made)
        : made;
  }

  /** The place of each member of the table's struct in the struct that is given. */
  private int[] places(StructType from, StructType to, String column) {
    List<String> given = List.of(from.fieldNames());
    boolean hasNoNames =
        byPlace
            && from.size() == to.size()
            && IntStream.range(0, from.size()).allMatch(i -> given.get(i).equals("col" + (i + 1)));
    int[] places = new int[to.size()];
    for (int i = 0; i < to.size(); i++) {
      String name = to.fieldNames()[i];
      int[] found =
          IntStream.range(0, given.size()).filter(at -> isSame(given.get(at), name)).toArray();
      if (found.length != 1 && !hasNoNames) {
        throw misfit(
            column,
            from,
            to,
            found.length == 0
                ? "it lacks member '%s'".formatted(name)
                : "it has member '%s' twice".formatted(name));
      }
      places[i] = found.length == 1 ? found[0] : i;
    }
    if (from.size() != to.size()) {
      throw misfit(column, from, to, "it has members that the table does not have");
    }
    return places;
  }

  private static boolean isSame(String one, String other) {
    return SessionSettings.isCaseSensitive() ? one.equals(other) : one.equalsIgnoreCase(other);
  }

  private static KeylakeException misfit(
      String column, StructType from, StructType to, String why) {
    return new KeylakeException(
        BAD_ROWS,
        "column '%s' is %s in the table and %s in the frame: %s; name each member of the table once, in any order"
            .formatted(column, to.sql(), from.sql(), why));
  }

  private Expression map(Expression value, String column, MapType from, MapType to) {
    Expression keys =
        array(new MapKeys(value), column + ".key", from.keyType(), false, to.keyType());
    Expression values =
        array(
            new MapValues(value),
            column + ".value",
            from.valueType(),
            from.valueContainsNull(),
            to.valueType());
    return new MapFromArrays(keys, values);
  }

  private Expression array(
      Expression value, String column, DataType from, boolean hasNulls, DataType to) {
    NamedLambdaVariable element =
        new NamedLambdaVariable(
            "element", from, hasNulls, NamedExpression.newExprId(), new AtomicReference<>());
    Expression cast = cast(element, column, to);
    return cast == element
        ? value
        : new ArrayTransform(
            value, new LambdaFunction(cast, sequence(List.<NamedExpression>of(element)), false));
  }

  private static <T> Seq<T> sequence(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  private static Expression thereAndBack(Expression value, String column, DataType target) {
    Expression there = through(value, target);
    Expression back = through(there, value.dataType());
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

  /** A decimal and a float are compared as they are shown: 0.1 of the one is 0.1 of the other. */
  private static Expression through(Expression value, DataType target) {
    boolean isShown = value.dataType() instanceof FloatType && target instanceof DecimalType;
    return as(isShown ? as(value, DataTypes.StringType) : value, target);
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
              ? as(value, DataTypes.StringType)
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

  private static boolean isTime(DataType type) {
    return type instanceof TimestampType || type instanceof TimestampNTZType;
  }

  private static Expression as(Expression value, DataType target) {
    return new Cast(value, target, Option.apply(SessionSettings.timeZone()), EvalMode.LEGACY());
  }

  /** Every value of one number type is a value of the other. */
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
