package io.keylake.spark.reducers.user;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.merge.Reducer;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.Reducer.Kind;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;

/**
 * Loads the classes that the server's setting {@value #SETTING} allows. A table can name any class,
 * and whoever may create one must not make the server run what it was not given.
 */
public final class UserReducers {
  public static final String SETTING = "spark.keylake.reducers";

  // Of a process, which runs one application: each of its servers and executors is told as it
  // starts.
  private static volatile List<String> allowed = List.of();

  private UserReducers() {}

  /**
   * Says which classes may be loaded in this process.
   *
   * @param names with commas between them
   */
  public static void allow(String names) {
    allowed = Arrays.stream(names.split(",")).map(String::strip).filter(n -> !n.isEmpty()).toList();
  }

  /** Refuses a class that the setting does not name. */
  public static void checkAllowed(String name) {
    if (!allowed.contains(name)) {
      throw refused(
          "the reducer class %s is not allowed here; the setting %s of the server names %s; add it there",
          name, SETTING, allowed.isEmpty() ? "none" : String.join(", ", allowed));
    }
  }

  /** A new object of a class that is allowed. */
  public static Reducer load(String name) {
    checkAllowed(name);
    try {
      Class<?> found = Class.forName(name, true, Thread.currentThread().getContextClassLoader());
      if (!Reducer.class.isAssignableFrom(found)) {
        throw refused("the reducer class %s does not implement %s", name, Reducer.class.getName());
      }
      return (Reducer) found.getConstructor().newInstance();
    } catch (ClassNotFoundException | LinkageError e) {
      throw refused(
          "the reducer class %s is not found in this process: %s; add its jar to spark.jars",
          name, e);
    } catch (ReflectiveOperationException e) {
      Throwable why = e.getCause() == null ? e : e.getCause();
      throw refused(
          "the reducer class %s cannot be made: %s; give the class, which is public, a public constructor without arguments",
          name, why);
    }
  }

  /**
   * Refuses a column whose reducer is one that cannot be loaded, does not take the type, or gives
   * other values for other groupings.
   */
  public static void check(String column, io.keylake.tables.spec.Reducer reducer, Type type) {
    if (reducer.kind() != Kind.OWN) {
      return;
    }
    String name = reducer.word("name");
    if (!load(name).takes(type.toString())) {
      throw refused(
          "column '%s' is %s, which its reducer %s does not take; use a type that it takes",
          column, type, name);
    }
    String found = new LawCheck(() -> load(name), SparkSchemaUtil.convert(type)).counterexample();
    if (found != null) {
      throw refused(
          "the reducer %s of column '%s' depends on how contributions are grouped%s: %s; a compaction would change answers",
          name, column, load(name).isOrdered() ? "" : " or ordered", found);
    }
  }

  private static KeylakeException refused(String sentence, Object... values) {
    return new KeylakeException(DEFINITION, sentence.formatted(values));
  }
}
