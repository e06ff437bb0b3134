package io.keylake.spark.notices;

import io.keylake.tables.Machine;
import io.keylake.tables.history.CommitLog;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.jspecify.annotations.Nullable;

/**
 * The commits that come to a branch while somebody waits for them.
 *
 * @param load the table as the catalog has it now
 * @param branch null for main
 */
public record NewCommits(Place place, Supplier<Table> load, @Nullable String branch) {
  private static final Map<Place, SharedLook> LOOKS = new ConcurrentHashMap<>();

  /** A table of a catalog; all sessions of a server that share the catalog share looks at it. */
  public record Place(Catalog catalog, TableIdentifier table) {}

  /**
   * Waits until a branch has commits that another commit does not have behind it.
   *
   * @param after a commit, or {@link io.keylake.tables.history.CommitRange#BEGINNING}
   * @param withCompactions whether to wait for those, too
   * @return the commits, oldest first; none where the time has passed
   */
  public List<CommitLog.Entry> await(long after, boolean withCompactions, Duration atMost) {
    long begunAt = Machine.here().nanos();
    SharedLook look = LOOKS.compute(place, (at, known) -> SharedLook.joined(known));
    try {
      Table table = look.anew(load); // a look of others may be older than the commit it is after
      while (true) {
        List<CommitLog.Entry> found =
            new CommitLog(table, branch)
                .since(after).stream()
                    .filter(entry -> withCompactions || !entry.isCompaction())
                    .toList();
        long left = atMost.toNanos() - (Machine.here().nanos() - begunAt);
        if (!found.isEmpty() || left <= 0) {
          return found;
        }
        pause(Math.min(look.pauseNanos(), left));
        table = look.recent(load);
      }
    } finally {
      LOOKS.computeIfPresent(place, (at, known) -> known.left());
    }
  }

  private static void pause(long nanos) {
    try {
      Machine.here().sleep(Math.max(1, Duration.ofNanos(nanos).toMillis()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CancellationException("the wait for commits was cancelled");
    }
  }

  /** The number of tables that somebody waits for. */
  static int tables() {
    return LOOKS.size();
  }
}
