package io.keylake.tables;

/**
 * Every refusal of the server. The message holds one line, {@code [KEYLAKE_<KIND>] <sentence>}, by
 * which a client finds the kind and the sentence in whatever the engine wraps around it.
 */
public final class KeylakeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What went wrong, in the words of the client's error classes. */
  public enum Kind {
    DEFINITION,
    SCHEMA_MISMATCH,
    BAD_ROWS,
    VERSION_MISSING,
    COMMIT_CONFLICT,
    TABLE_EXISTS,
    NOT_FOUND,
    NOT_KEYED,
    SNAPSHOT_EXPIRED,
    UNSUPPORTED
  }

  private final Kind kind;

  public KeylakeException(Kind kind, String sentence) {
    super(line(kind, sentence));
    this.kind = kind;
  }

  /** The line of the message, for errors that are raised inside a query. */
  public static String line(Kind kind, String sentence) {
    return "[KEYLAKE_" + kind + "] " + sentence.replace('\n', ' ').replace('\r', ' ');
  }

  public Kind kind() {
    return kind;
  }
}
