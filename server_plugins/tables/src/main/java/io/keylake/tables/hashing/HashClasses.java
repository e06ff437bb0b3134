package io.keylake.tables.hashing;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeyHash;
import io.keylake.tables.KeylakeException;
import java.util.Arrays;
import java.util.List;

/**
 * Loads the classes that the server's setting {@value #SETTING} allows as hashes. A table can name
 * any class, and whoever may create one must not make the server run what it was not given: a class
 * that is not allowed is not even looked for.
 */
public final class HashClasses {
  public static final String SETTING = "spark.keylake.hashes";

  // Of a process, which runs one application: each of its servers and executors is told as it
  // starts.
  private static volatile List<String> allowed = List.of();

  private HashClasses() {}

  /**
   * Says which classes may be loaded in this process.
   *
   * @param names with commas between them
   */
  public static void allow(String names) {
    allowed = Arrays.stream(names.split(",")).map(String::strip).filter(n -> !n.isEmpty()).toList();
  }

  /** A new object of a class that is allowed. */
  public static KeyHash load(String name) {
    if (!allowed.contains(name)) {
      throw new KeylakeException(
          DEFINITION,
          "the hash class %s is not allowed here; the setting %s of the server names %s; add it there, or take one of the hashes that have names"
              .formatted(name, SETTING, allowed.isEmpty() ? "none" : String.join(", ", allowed)));
    }
    try {
      ClassLoader loader = Thread.currentThread().getContextClassLoader();
      Class<?> found = Class.forName(name, false, loader);
      return found.asSubclass(KeyHash.class).getConstructor().newInstance();
    } catch (ReflectiveOperationException | LinkageError e) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the hash class %s cannot be used here (%s); put its jar on the server's class path, driver and executors, and see that it has a public constructor without parameters"
              .formatted(name, e));
    } catch (ClassCastException e) {
      throw new KeylakeException(
          DEFINITION,
          "the hash class %s is not a %s; let it implement that"
              .formatted(name, KeyHash.class.getName()));
    }
  }
}
