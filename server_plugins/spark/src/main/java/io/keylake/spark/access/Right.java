package io.keylake.spark.access;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** A right that a rule of a policy gives. */
public enum Right {
  READ("read"),
  WRITE("write"),
  CREATE("create"),
  ALTER("alter"),
  DROP("drop"),
  PUBLISH("publish to"),
  UNDO("take back commits of"),
  MAINTAIN("maintain"),
  /** Definitions of tables that name code: reducers in Python and in Java. */
  REGISTER_CODE("name code for"),
  /** Functions, jars and modules that a client sends. */
  RUN_CODE("run code of its own on"),
  /** Files and other catalogs, which the server reaches with its own credentials. */
  FILES("open files and other catalogs through");

  private final String verb;

  Right(String verb) {
    this.verb = verb;
  }

  /** The words in a sentence, before the name of a table or the server. */
  String verb() {
    return verb;
  }

  /** The right concerns the server and no table. */
  boolean isOfServer() {
    return this == RUN_CODE || this == FILES;
  }

  /** The name in a policy and in sentences. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  static List<String> words() {
    return Arrays.stream(values()).map(Right::word).toList();
  }

  static Optional<Right> of(String word) {
    return Arrays.stream(values()).filter(right -> right.word().equals(word)).findFirst();
  }
}
