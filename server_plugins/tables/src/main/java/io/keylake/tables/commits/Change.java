package io.keylake.tables.commits;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.WriteLabels;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The changes that one commit of a table makes, on one branch or on several at once: all of it or
 * nothing.
 */
public interface Change {
  /** Adds what it does to an attempt. Each attempt begins anew, with the table as it is then. */
  void addTo(Attempt attempt);

  /**
   * The locations of files that were written for it. They are deleted if it is certain that they
   * are part of no commit.
   */
  default List<String> written() {
    return List.of();
  }

  /**
   * The labels of the writer: at most one commit of a branch has its idempotency key, or its
   * offsets.
   */
  default WriteLabels labels() {
    return WriteLabels.NONE;
  }

  /** The change may be made where the branch holds what keylake did not make. */
  default boolean takesForeign() {
    return false;
  }

  /**
   * An attempt has met a table that the change does not fit, where Iceberg refuses an argument of
   * its own before it asks the parts: of a snapshot that was rolled back.
   */
  default boolean isStale(Attempt attempt) {
    return false;
  }

  /**
   * The error where other commits always came first.
   *
   * @return null for a change that gives way to others: it is planned anew, or not made
   */
  default @Nullable KeylakeException lost(String why) {
    return null;
  }
}
