package io.keylake.tables.simulator;

/** The calls at which a thread can be interrupted, because they leave its process. */
enum Call {
  REFRESH,
  COMMIT,
  READ,
  WRITE,
  DELETE,
  LIST,
  SLEEP;

  String word() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }
}
