package io.keylake.pipelines.kafka;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.pipelines.messages.MessageFormat;
import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.Tuple3;
import scala.jdk.javaapi.CollectionConverters;

/** {@code keylake_message_changes(format, topic, offset, timestamp, key, value)}. */
public final class KafkaFunctions {
  private static final String FORM =
      MessageChanges.NAME + "('<format as JSON>', topic, offset, timestamp, key, value)";

  private KafkaFunctions() {}

  /** Makes the function known to every session. */
  public static void register(SparkSessionExtensions extensions) {
    extensions.injectFunction(
        new Tuple3<>(
            new FunctionIdentifier(MessageChanges.NAME),
            new ExpressionInfo(MessageChanges.class.getName(), MessageChanges.NAME),
            given -> call(CollectionConverters.asJava(given))));
  }

  private static Expression call(List<Expression> given) {
    String format =
        !given.isEmpty()
                && given.get(0) instanceof Literal literal
                && literal.value() instanceof UTF8String text
            ? text.toString()
            : null;
    if (format == null) {
      throw new KeylakeException(
          DEFINITION,
          "%s has no plain text in front; write %s".formatted(MessageChanges.NAME, FORM));
    }
    MessageFormat.fromJson(format); // refuses it now, and not in a task
    MessageChanges function = new MessageChanges(format);
    DataType[] inputs = function.inputTypes();
    if (given.size() != inputs.length + 1) {
      throw new KeylakeException(
          DEFINITION,
          "%s was given %d arguments; write %s".formatted(MessageChanges.NAME, given.size(), FORM));
    }
    List<Expression> arguments = new ArrayList<>();
    for (int i = 0; i < inputs.length; i++) {
      Expression argument = given.get(i + 1);
      arguments.add(
          argument.dataType().equals(inputs[i])
              ? argument
              : new Cast(argument, inputs[i], Option.empty(), Cast.apply$default$4()));
    }
    return V2ExpressionUtils.resolveScalarFunction(
        function, CollectionConverters.asScala(arguments).toSeq());
  }
}
