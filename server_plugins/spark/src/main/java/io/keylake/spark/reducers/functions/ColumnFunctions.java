package io.keylake.spark.reducers.functions;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.NullType;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.Tuple3;
import scala.jdk.javaapi.CollectionConverters;

/** The functions by name, made known to every session. */
public final class ColumnFunctions {
  private ColumnFunctions() {}

  /**
   * A function as SQL names it.
   *
   * @param form how it is called, for sentences
   * @param takes what its arguments are, for sentences
   */
  record Named(String name, String form, String takes, Binding binding) {}

  /** Chooses the function for the types of its arguments. */
  @FunctionalInterface
  interface Binding {
    /** The function for these arguments; null where it does not take them. */
    @Nullable ColumnFunction of(String name, List<DataType> arguments);
  }

  /** Makes the functions known to every session. */
  public static void register(SparkSessionExtensions extensions) {
    Stream.of(
            AverageFunctions.all(),
            MomentFunctions.all(),
            RoaringFunctions.all(),
            SketchFunctions.all())
        .flatMap(List::stream)
        .forEach(
            function ->
                extensions.injectFunction(
                    new Tuple3<>(
                        new FunctionIdentifier(function.name()),
                        new ExpressionInfo(ColumnFunction.class.getName(), function.name()),
                        given -> call(function, CollectionConverters.asJava(given)))));
  }

  private static Expression call(Named named, List<Expression> given) {
    List<DataType> types = given.stream().map(Expression::dataType).toList();
    ColumnFunction function = named.binding().of(named.name(), types);
    if (function == null) {
      throw new KeylakeException(
          DEFINITION,
          "%s was given (%s); write %s, of %s"
              .formatted(
                  named.name(),
                  String.join(", ", types.stream().map(DataType::simpleString).toList()),
                  named.form(),
                  named.takes()));
    }
    List<Expression> arguments = new ArrayList<>();
    for (int i = 0; i < given.size(); i++) {
      arguments.add(as(given.get(i), function.inputTypes()[i]));
    }
    return V2ExpressionUtils.resolveScalarFunction(
        function, CollectionConverters.asScala(arguments).toSeq());
  }

  private static Expression as(Expression given, DataType type) {
    return given.dataType().equals(type)
        ? given
        : new Cast(given, type, Option.empty(), Cast.apply$default$4());
  }

  /** An argument has a type, or is a null without one. */
  static boolean is(DataType given, DataType type) {
    return given.equals(type) || given instanceof NullType;
  }
}
