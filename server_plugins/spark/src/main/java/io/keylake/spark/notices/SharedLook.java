package io.keylake.spark.notices;

import io.keylake.tables.Machine;
import java.time.Duration;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The newest state of a table that any of those has seen who wait for it. One of them looks for
 * all, and looks take at most a tenth of the time.
 */
final class SharedLook {
  private static final int PAUSES_PER_LOOK = 10;
  private static final long SHORTEST = Duration.ofMillis(20).toNanos();
  private static final long LONGEST = Duration.ofSeconds(1).toNanos();

  private int waiting; // is changed by the map alone, which has a lock for each place
  private @Nullable Table newest;
  private long lookedAt;
  private volatile long pauseNanos = SHORTEST;

  /** The look of a table for one who waits more. */
  static SharedLook joined(@Nullable SharedLook known) {
    SharedLook look = known == null ? new SharedLook() : known;
    look.waiting++;
    return look;
  }

  /** The look for one who waits less; null where nobody does any more. */
  @Nullable SharedLook left() {
    waiting--;
    return waiting == 0 ? null : this;
  }

  /** The time from one look to the next. */
  long pauseNanos() {
    return pauseNanos;
  }

  /** The table as the catalog has it now. */
  synchronized Table anew(Supplier<Table> load) {
    long begunAt = Machine.here().nanos();
    Table found = load.get();
    lookedAt = Machine.here().nanos();
    pauseNanos = Math.min(Math.max((lookedAt - begunAt) * PAUSES_PER_LOOK, SHORTEST), LONGEST);
    newest = found;
    return found;
  }

  /** The table as the last look found it, where that is not older than the pause between looks. */
  synchronized Table recent(Supplier<Table> load) {
    Table found = newest;
    if (found != null && Machine.here().nanos() - lookedAt < pauseNanos) {
      return found;
    }
    return anew(load);
  }
}
