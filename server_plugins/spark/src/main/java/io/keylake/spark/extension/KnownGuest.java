package io.keylake.spark.extension;

import java.util.Set;

/**
 * The guests of the release and what of SQL is theirs, so that a server without the jar of one can
 * say which jar a statement needs.
 */
enum KnownGuest {
  PIPELINES(
      "keylake-pipelines",
      Set.of("kafka_offsets", "write_tables"),
      Set.of("keylake_message_changes"),
      Set.of()),
  PLAIN_DELETES(
      "keylake-plain-deletes",
      Set.of("apply_equality_deletes"),
      Set.of(),
      Set.of("keylake.equality-deletes"));

  private final String jar;
  private final Set<String> procedures;
  private final Set<String> functions;
  private final Set<String> properties;

  KnownGuest(String jar, Set<String> procedures, Set<String> functions, Set<String> properties) {
    this.jar = jar;
    this.procedures = procedures;
    this.functions = functions;
    this.properties = properties;
  }

  /** The name of the jar without the version. */
  String jar() {
    return jar;
  }

  Set<String> procedures() {
    return procedures;
  }

  Set<String> functions() {
    return functions;
  }

  /** The properties of plain tables. */
  Set<String> properties() {
    return properties;
  }
}
