package io.keylake.tables.commits;

import io.keylake.tables.history.CommitLog;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.jspecify.annotations.Nullable;

/**
 * Ends an attempt before it is sent: nothing was committed, and Iceberg may delete its manifests.
 */
final class NotCommitted extends RuntimeException implements CleanableFailure {
  private static final long serialVersionUID = 1L;

  enum Why {
    /** The plan does not fit what is there now. */
    STALE,
    /** The plan fits, but what was said of the parent does not: the attempt is to begin anew. */
    AGAIN,
    /** There is a commit with the idempotency key. */
    REPEATED,
    /** Another refusal: the cause. */
    REFUSED
  }

  private final Why why;
  private final transient CommitLog.@Nullable Entry first;

  private NotCommitted(Why why, CommitLog.@Nullable Entry first, @Nullable RuntimeException cause) {
    super(why.name(), cause);
    this.why = why;
    this.first = first;
  }

  static NotCommitted because(Why why) {
    return new NotCommitted(why, null, null);
  }

  static NotCommitted repeated(CommitLog.Entry first) {
    return new NotCommitted(Why.REPEATED, first, null);
  }

  static NotCommitted refused(RuntimeException cause) {
    return new NotCommitted(Why.REFUSED, null, cause);
  }

  Why why() {
    return why;
  }

  CommitLog.@Nullable Entry first() {
    return first;
  }
}
