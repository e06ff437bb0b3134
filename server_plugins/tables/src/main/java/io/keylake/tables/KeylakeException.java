package io.keylake.tables;

import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.jspecify.annotations.Nullable;

/**
 * Every refusal of the server, as an error condition of Spark: {@code [KEYLAKE_<KIND>] <sentence>
 * SQLSTATE: <state>}. A client reads condition and state from the error; where an engine passes on
 * the text only, as it does for tasks, the text has both.
 *
 * <p>It extends a class of Spark because clients of Spark Connect know errors by the names of their
 * classes: of any other they show that name in front of the sentence, as an unknown one.
 */
@GuestApi
public final class KeylakeException extends SparkRuntimeException {
  private static final long serialVersionUID = 1L;

  /** A condition of Spark whose text is the given one; Spark's class takes only those it knows. */
  private static final String CONDITION_OF_SPARK = "USER_RAISED_EXCEPTION";

  private static final int MOST_CHARACTERS = 4000;

  /** The kind of an error, in the words of the client's error classes. */
  public enum Kind {
    DEFINITION("42000"),
    SCHEMA_MISMATCH("42804"),
    BAD_ROWS("22000"),
    VERSION_MISSING("22004"),
    COMMIT_CONFLICT("40001"),
    TABLE_EXISTS("42P07"),
    NOT_FOUND("42P01"),
    NOTHING_TO_DO("02000"),
    NOT_KEYED("42809"),
    SNAPSHOT_EXPIRED("55019"),
    FOREIGN_COMMIT("55000"),
    STORE_FAILED("58030"),
    /** The catalog or the store cannot serve the call for now; the same call may succeed later. */
    UNAVAILABLE("57011"),
    /** The catalog did not say whether it has taken a change, and could not be asked either. */
    OUTCOME_UNKNOWN("08007"),
    /** The access policy of the server does not allow it to whoever asks. */
    ACCESS_DENIED("42501"),
    UNSUPPORTED("0A000");

    private final String sqlState;

    Kind(String sqlState) {
      this.sqlState = sqlState;
    }

    /** The name of the error condition. */
    public String condition() {
      return "KEYLAKE_" + name();
    }

    public String sqlState() {
      return sqlState;
    }
  }

  private final Kind kind;
  private final String sentence;
  private @Nullable Throwable cause;

  public KeylakeException(Kind kind, String sentence) {
    this(kind, sentence, null);
  }

  public KeylakeException(Kind kind, String sentence, @Nullable Throwable cause) {
    super(
        CONDITION_OF_SPARK,
        new scala.collection.immutable.Map.Map1<>("errorMessage", inOneLine(sentence)),
        null,
        new QueryContext[0],
        "");
    this.kind = kind;
    this.sentence = inOneLine(sentence);
    this.cause = cause;
  }

  /** The line that a message begins with, for errors that are raised inside a query. */
  public static String line(Kind kind, String sentence) {
    return "[" + kind.condition() + "] " + inOneLine(sentence);
  }

  /** A sentence that has a long value in it is shown with its beginning and its end. */
  private static String inOneLine(String sentence) {
    String line = sentence.replace('\n', ' ').replace('\r', ' ');
    int leftOut = line.length() - MOST_CHARACTERS;
    return leftOut <= 0
        ? line
        : "%s ... (%d characters are left out) ... %s"
            .formatted(
                line.substring(0, MOST_CHARACTERS / 2),
                leftOut,
                line.substring(line.length() - MOST_CHARACTERS / 2));
  }

  public Kind kind() {
    return kind;
  }

  /** The message without condition and state. */
  public String sentence() {
    return sentence;
  }

  @Override
  public String getMessage() {
    return line(kind, sentence) + " SQLSTATE: " + kind.sqlState();
  }

  /** Spark's class says at once that there is none, which then could not be changed. */
  @Override
  public synchronized @Nullable Throwable getCause() {
    return cause;
  }

  @Override
  public synchronized Throwable initCause(@Nullable Throwable cause) {
    this.cause = cause;
    return this;
  }

  @Override
  public String getCondition() {
    return kind.condition();
  }

  @Override
  public String getSqlState() {
    return kind.sqlState();
  }

  @Override
  public Map<String, String> getMessageParameters() {
    return Map.of("sentence", sentence);
  }
}
