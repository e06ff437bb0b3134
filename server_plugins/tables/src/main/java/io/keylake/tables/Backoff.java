package io.keylake.tables;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;

/** A change of a table is done again, after a pause, where other commits came first. */
public final class Backoff {
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
        table.refresh();
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
   * Waits for a random time, which may be longer after more attempts; false if it is interrupted.
   *
   * @param attempts how many there have been
   */
  public static boolean pause(int attempts) {
    try {
      int longest = Math.min(10 << Math.min(attempts, 10), LONGEST_WAIT_MILLIS);
      Thread.sleep(ThreadLocalRandom.current().nextInt(longest));
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
