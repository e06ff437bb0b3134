package io.keylake.spark.reducers.functions;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CurrentDate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code window_sum(column, 7)}, {@code window_avg}, {@code window_min}, {@code window_max} and
 * {@code window_count}: one value of the last days of a column that has a value for each day, be it
 * a struct of the newest day and its values, as the reducer Daily keeps it, or an array whose first
 * element is the newest day's.
 */
public final class WindowFunctions {
  private static final int STRUCT_ARGUMENTS = 3;

  private WindowFunctions() {}

  /** Makes the functions known to every session. */
  public static void register(SparkSessionExtensions extensions) {
    for (WindowKind kind : WindowKind.values()) {
      ExpressionInfo info = new ExpressionInfo(DayWindow.class.getName(), kind.functionName());
      extensions.injectFunction(
          new Tuple3<>(
              new FunctionIdentifier(kind.functionName()),
              info,
              arguments -> call(kind, CollectionConverters.asJava(arguments))));
    }
  }

  private static Expression call(WindowKind kind, List<Expression> given) {
    String form = kind.functionName() + "(column, days)";
    if (given.size() < 2 || given.size() > STRUCT_ARGUMENTS) {
      throw new KeylakeException(
          DEFINITION,
          "%s takes 2 or 3 arguments and was given %d; write %s, or %s(column, days, as_of)"
              .formatted(kind.functionName(), given.size(), form, kind.functionName()));
    }
    DataType column = given.get(0).dataType();
    DataType values = values(kind, column);
    List<Expression> arguments = new ArrayList<>();
    arguments.add(given.get(0));
    arguments.add(as(given.get(1), DataTypes.IntegerType));
    if (column instanceof StructType) {
      arguments.add(
          given.size() == STRUCT_ARGUMENTS
              ? as(given.get(2), DataTypes.DateType)
              : new CurrentDate(Option.empty()));
    } else if (given.size() == STRUCT_ARGUMENTS) {
      throw new KeylakeException(
          DEFINITION,
          "%s was given a day for an array, whose elements have no days; write %s"
              .formatted(kind.functionName(), form));
    }
    Seq<Expression> all = CollectionConverters.asScala(arguments).toSeq();
    return V2ExpressionUtils.resolveScalarFunction(new DayWindow(kind, column, values), all);
  }

  private static Expression as(Expression given, DataType type) {
    return given.dataType().equals(type)
        ? given
        : new Cast(given, type, Option.empty(), Cast.apply$default$4());
  }

  /** The type of one day's value. */
  private static DataType values(WindowKind kind, DataType column) {
    DataType list =
        column instanceof StructType struct
                && struct.length() == 2
                && struct.fields()[0].dataType() instanceof DateType
            ? struct.fields()[1].dataType()
            : column;
    if (list instanceof ArrayType array && isNumber(array.elementType())) {
      return array.elementType();
    }
    throw new KeylakeException(
        DEFINITION,
        "%s was given a %s; it takes an array of numbers, or a struct of a date 'day' and such an array 'values'"
            .formatted(kind.functionName(), column.simpleString()));
  }

  private static boolean isNumber(DataType type) {
    return type instanceof IntegerType
        || type instanceof LongType
        || type instanceof FloatType
        || type instanceof DoubleType
        || type instanceof DecimalType;
  }
}
