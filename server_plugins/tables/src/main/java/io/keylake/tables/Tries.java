package io.keylake.tables;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;

/** Does something again where other commits come first: a number of times, with pauses. */
public final class Tries {
  /** Any commit in between is an end to a try: the change is checked against what is there. */
  private static final int MOST = 100;

  private static final int LONGEST_WAIT_MILLIS = 1000;

  private Tries() {}

  /**
   * Changes what a table says of itself, such as its columns.
   *
   * @param what is changed, as the error says it
   * @param change is made upon the table as it is then
   */
  public static <T> T make(Table table, String what, Supplier<T> change) {
    for (int tries = 1; ; tries++) {
      table.refresh();
      try {
        T made = change.get();
        table.refresh();
        return made;
      } catch (CommitFailedException e) {
        if (tries == MOST || !isPaused(tries)) {
          throw new KeylakeException(
              COMMIT_CONFLICT,
              "%s of table %s lost against other commits %d times (%s); nothing was changed, do it again"
                  .formatted(what, table.name(), tries, e.getMessage()));
        }
      }
    }
  }

  /**
   * Waits a little, so that others come through; false if it is interrupted.
   *
   * @param tries so far
   */
  public static boolean isPaused(int tries) {
    try {
      int longest = Math.min(10 << Math.min(tries, 10), LONGEST_WAIT_MILLIS);
      Thread.sleep(ThreadLocalRandom.current().nextInt(longest));
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
