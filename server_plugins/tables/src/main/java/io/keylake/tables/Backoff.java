package io.keylake.tables;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A change of a table is done again, after a pause, where other commits came first. */
public final class Backoff {
  private static final Logger LOG = LoggerFactory.getLogger(Backoff.class);

  /** Any other commit ends an attempt: the change is checked against the table as it is then. */
  private static final int MOST = 100;

  private static final int LONGEST_WAIT_MILLIS = 1000;

  private Backoff() {}

  /**
   * Changes what a table says of itself, such as its columns.
   *
   * @param what is changed, as the error says it
   * @param change is made upon the table as it is then
   */
  public static <T> T retry(Table table, String what, Supplier<T> change) {
    for (int attempt = 1; ; attempt++) {
      table.refresh();
      try {
        T made = change.get();
        look(table);
        return made;
      } catch (CommitFailedException e) {
        if (attempt == MOST || !pause(attempt)) {
          throw new KeylakeException(
              COMMIT_CONFLICT,
              "%s of table %s lost against other commits %d times (%s); nothing was changed, do it again"
                  .formatted(what, table.name(), attempt, e.getMessage()));
        }
      }
    }
  }

  /**
   * Looks at a table that was changed. That it cannot be seen just then does not make the change
   * undone, and is no failure of it.
   */
  public static void look(Table table) {
    try {
      table.refresh();
    } catch (RuntimeException e) {
      LOG.warn("{} was changed, and cannot be read", table.name(), e);
    }
  }

  /**
   * Waits for a random time, which may be longer after more attempts; false if it is interrupted.
   *
   * @param attempts how many there have been
   */
  public static boolean pause(int attempts) {
    try {
      int longest = Math.min(10 << Math.min(attempts, 10), LONGEST_WAIT_MILLIS);
      Machine.here().sleep(Machine.here().random(longest));
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
