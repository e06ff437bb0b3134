package io.keylake.pipelines.encodings;

/** A message that gives no rows, and why: others go on. */
public final class BadMessage extends Exception {
  private static final long serialVersionUID = 1L;

  public BadMessage(String reason) {
    super(reason, null, false, false); // the reason is all that is shown
  }

  public String reason() {
    return String.valueOf(getMessage());
  }
}
