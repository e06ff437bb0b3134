package io.keylake.tables.outcomes;

import static org.apache.iceberg.TableProperties.COMMIT_NUM_STATUS_CHECKS;
import static org.apache.iceberg.TableProperties.COMMIT_STATUS_CHECKS_MAX_WAIT_MS;
import static org.apache.iceberg.TableProperties.COMMIT_STATUS_CHECKS_MIN_WAIT_MS;

import io.keylake.tables.Machine;
import org.apache.iceberg.TableMetadata;

/**
 * The number of times that it is asked what became of a commit, with pauses that grow, as the
 * table's commit.status-check properties say; without them for about 16 seconds.
 */
final class Patience {
  private static final int CHECKS = 8;
  private static final int SHORTEST_MILLIS = 100;
  private static final int LONGEST_MILLIS = 5_000;

  private final long longest;
  private int left;
  private long next;

  Patience(TableMetadata table) {
    this.left = table.propertyAsInt(COMMIT_NUM_STATUS_CHECKS, CHECKS);
    this.next = table.propertyAsLong(COMMIT_STATUS_CHECKS_MIN_WAIT_MS, SHORTEST_MILLIS);
    this.longest = table.propertyAsLong(COMMIT_STATUS_CHECKS_MAX_WAIT_MS, LONGEST_MILLIS);
  }

  /** Waits before it is asked once more; false where it was asked often enough. */
  boolean pauses() {
    if (left-- <= 0) {
      return false;
    }
    try {
      Machine.here().sleep(Math.min(next, longest));
      next = Math.min(2 * next, longest);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
