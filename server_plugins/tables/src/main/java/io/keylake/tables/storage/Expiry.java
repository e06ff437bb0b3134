package io.keylake.tables.storage;

import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.Positions;
import io.keylake.tables.history.RetentionPolicy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The snapshots that a policy of retention lets go:
 *
 * <ol>
 *   <li>A branch keeps its head, and the newest {@code snapshots}, however old they are.
 *   <li>It keeps what was its head within the last {@code days}: the table can be read as of any
 *       moment since then, also where the commit of that moment is older. Of these, and all others,
 *       at most {@code max_snapshots} are kept.
 *   <li>A branch with settings of its own ({@code WITH SNAPSHOT RETENTION}) has these instead. A
 *       tag keeps its snapshot.
 *   <li>What no branch has any more, as it was rolled back or dropped, is kept by its own age, and
 *       by the same number.
 *   <li>What was committed after the position of the slowest consumer is kept in any case, and so
 *       is the way back to before a foreign commit.
 * </ol>
 */
final class Expiry {
  private final Table table;
  private final RetentionPolicy policy;
  private final Instant now;
  private final long fence;
  private final Set<Long> kept = new HashSet<>();

  private Expiry(Table table, RetentionPolicy policy, Instant now, long fence) {
    this.table = table;
    this.policy = policy;
    this.now = now;
    this.fence = fence;
  }

  /** The expired snapshots of the table as it was last refreshed. */
  static Set<Long> of(Table table, RetentionPolicy policy, Instant now) {
    long fence = Math.min(Positions.fenceMillis(table), Lineage.fenceMillis(table));
    return new Expiry(table, policy, now, fence).expired();
  }

  /** The number of snapshots that would expire besides, if no consumer had anything to read. */
  static int heldByConsumers(Table table, RetentionPolicy policy, Instant now) {
    Set<Long> all = new Expiry(table, policy, now, Lineage.fenceMillis(table)).expired();
    return all.size() - of(table, policy, now).size();
  }

  private Set<Long> expired() {
    Duration age = policy.kept();
    Set<Long> expired = new HashSet<>();
    if (age == null) {
      return expired;
    }
    table.refs().values().forEach(ref -> keep(ref, age));
    keepUnreferenced(age);
    for (Snapshot each : table.snapshots()) {
      if (!kept.contains(each.snapshotId())) {
        expired.add(each.snapshotId());
      }
    }
    return expired;
  }

  private void keep(SnapshotRef ref, Duration age) {
    if (ref.isTag()) {
      kept.add(ref.snapshotId());
      return;
    }
    Long ownAge = ref.maxSnapshotAgeMs();
    Integer ownNumber = ref.minSnapshotsToKeep();
    boolean hasOwn = ownAge != null || ownNumber != null;
    List<Snapshot> newestFirst = new ArrayList<>();
    SnapshotUtil.ancestorsOf(ref.snapshotId(), table::snapshot).forEach(newestFirst::add);
    keepNewest(
        newestFirst,
        Objects.requireNonNullElse(ownNumber, policy.snapshots()),
        hasOwn ? null : policy.maxSnapshots(),
        oldest(ownAge == null ? age : Duration.ofMillis(ownAge)));
  }

  /** Nothing is young enough for an age of zero, whatever the clocks say. */
  private long oldest(Duration age) {
    return age.isZero() ? Long.MAX_VALUE : now.minus(age).toEpochMilli();
  }

  /** A commit is the newest until the next one is made. */
  private void keepNewest(
      List<Snapshot> newestFirst, int least, @Nullable Integer most, long oldest) {
    int number = 0;
    for (int i = 0; i < newestFirst.size(); i++) {
      long until = i == 0 ? Long.MAX_VALUE : newestFirst.get(i - 1).timestampMillis();
      boolean isWanted = i < least || ((most == null || i < most) && until >= oldest);
      if (isWanted || newestFirst.get(i).timestampMillis() >= fence) {
        number = i + 1; // none is left out in between
      }
    }
    newestFirst.subList(0, number).forEach(each -> kept.add(each.snapshotId()));
  }

  private void keepUnreferenced(Duration age) {
    Set<Long> referenced = new HashSet<>();
    for (SnapshotRef ref : table.refs().values()) {
      referenced.addAll(
          SnapshotUtil.ancestorIds(table.snapshot(ref.snapshotId()), table::snapshot));
    }
    List<Snapshot> newestFirst = new ArrayList<>();
    for (Snapshot each : table.snapshots()) {
      if (!referenced.contains(each.snapshotId())) {
        newestFirst.add(each);
      }
    }
    newestFirst.sort(Comparator.comparingLong(Snapshot::timestampMillis).reversed());
    Integer most = policy.maxSnapshots();
    for (int i = 0; i < newestFirst.size(); i++) {
      long made = newestFirst.get(i).timestampMillis();
      if (made >= fence || (made >= oldest(age) && (most == null || i < most))) {
        kept.add(newestFirst.get(i).snapshotId());
      }
    }
  }
}
