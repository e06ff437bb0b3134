package io.keylake.spark.reducers.user;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.spark.engine.PythonWorkers;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.Reducer;
import io.keylake.tables.spec.Reducer.Kind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.spark.SparkException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A class in Python, by the name of its module and its own.
 *
 * @param name as in {@code features.Range}
 * @param type of the column
 * @param state what it keeps of contributions
 */
public record PythonReducer(String name, DataType type, StructType state) {
  private static final byte ANSWER = 0;
  private static final byte NOT_IMPORTED = 1;

  /** The reducer of a column. */
  static PythonReducer of(Reducer reducer, DataType type) {
    String name = reducer.word("name");
    UserReducers.checkAllowed(name);
    return new PythonReducer(name, type, stateOf(reducer));
  }

  private static StructType stateOf(Reducer reducer) {
    try {
      if (DataType.fromDDL(reducer.word("state")) instanceof StructType struct
          && struct.length() > 0) {
        return struct;
      }
    } catch (RuntimeException e) {
      // as one that is no struct
    }
    throw new KeylakeException(
        DEFINITION,
        "the state of the reducer %s is '%s'; write a struct as Spark has it, as in struct<least:bigint,most:bigint>"
            .formatted(reducer.word("name"), reducer.word("state")));
  }

  /**
   * Refuses a column whose reducer is one that cannot be loaded, does not take the type, or gives
   * other values for other groupings.
   */
  public static void check(String column, Reducer reducer, Type type) {
    if (reducer.kind() == Kind.PYTHON) {
      of(reducer, SparkSchemaUtil.convert(type)).check(column, type);
    }
  }

  private void check(String column, Type declared) {
    StructType columns = new StructType().add("value", type).add("state", state);
    Stream<InternalRow> samples =
        Samples.of(type).stream()
            .map(
                each ->
                    new GenericInternalRow(new Object[] {PlainValues.catalyst(each, type), null}));
    String found =
        new String(
            ask("check", ArrowBytes.of(columns, samples.toList()), DEFINITION),
            StandardCharsets.UTF_8);
    if (!found.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "the reducer %s of column '%s', which is %s, %s"
              .formatted(name, column, declared, found));
    }
  }

  /** The result of the reducer for a batch. */
  byte[] reduce(StructType columns, List<InternalRow> entries) {
    return ask("reduce", ArrowBytes.of(columns, entries), BAD_ROWS);
  }

  private byte[] ask(String what, byte[] batch, KeylakeException.Kind ifItFails) {
    byte[] answer = answer(what, batch);
    byte[] said = Arrays.copyOfRange(answer, 1, answer.length);
    if (answer[0] == ANSWER) {
      return said;
    }
    String reason = new String(said, StandardCharsets.UTF_8);
    throw answer[0] == NOT_IMPORTED
        ? new KeylakeException(
            DEFINITION,
            "the reducer %s cannot be loaded by the Python of Spark, %s: %s; install its module there, or name its folder in PYTHONPATH where the server starts"
                .formatted(name, PythonWorkers.python(), reason))
        : new KeylakeException(
            ifItFails, "the reducer %s fails: %s; mend the class".formatted(name, reason));
  }

  private byte[] answer(String what, byte[] batch) {
    ObjectNode question = JsonNodeFactory.instance.objectNode().put("do", what).put("name", name);
    try {
      return PythonWorkers.ask(question.toString().getBytes(StandardCharsets.UTF_8), batch);
    } catch (IOException e) {
      throw unreached(e);
    } catch (RuntimeException e) {
      throw e instanceof KeylakeException ? e : unreached(e);
    } catch (Exception e) { // Scala declares none: Spark throws its own where Python does not start
      if (e instanceof SparkException) {
        throw unreached(e);
      }
      throw new IllegalStateException(e);
    }
  }

  private KeylakeException unreached(Exception e) {
    String why = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage().strip();
    return new KeylakeException(
        DEFINITION,
        "the reducer %s needs Python in Spark's workers, and '%s' does not answer: %s; install keylake for it, or set spark.pyspark.python to one that has it"
            .formatted(name, PythonWorkers.python(), why.replaceAll("\\s*\\n\\s*", " ")));
  }
}
