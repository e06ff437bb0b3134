package io.keylake.pipelines.encodings;

/** A message that gives no rows, and why: others go on. */
public final class BadMessage extends Exception {
  private static final long serialVersionUID = 1L;
  private static final int MOST_CHARACTERS = 1000;

  public BadMessage(String reason) {
    super(reason, null, false, false); // the reason is all that is shown
  }

  /** One line; of a long value that stands in it, the beginning and the end of the line. */
  public String reason() {
    String line = String.valueOf(getMessage()).replaceAll("[\\r\\n]+", " ");
    int leftOut = line.length() - MOST_CHARACTERS;
    return leftOut <= 0
        ? line
        : "%s ... (%d characters are left out) ... %s"
            .formatted(
                line.substring(0, MOST_CHARACTERS / 2),
                leftOut,
                line.substring(line.length() - MOST_CHARACTERS / 2));
  }
}
