package io.keylake.tables.simulator;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.tables.buckets.BucketChange;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.ManifestRewrite;
import io.keylake.tables.compaction.Compaction;
import io.keylake.tables.compaction.CompactionChange;
import io.keylake.tables.compaction.CompactionPlan;
import io.keylake.tables.compaction.CompactionPlanner;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.compaction.SettledBuckets;
import io.keylake.tables.compaction.SettledBuckets.SettledBucket;
import io.keylake.tables.compaction.SettlementChange;
import io.keylake.tables.history.Positions;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.lateness.Lateness;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.schema.ColumnChange;
import io.keylake.tables.schema.SchemaChange;
import io.keylake.tables.storage.Housekeeping;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.types.Types.LongType;
import org.jspecify.annotations.Nullable;

/** Operations that change no answer. */
final class Upkeep {
  /** As many runs as a script makes fill tiers of this one. */
  private static final CompactionPolicy SMALL =
      new CompactionPolicy(4, 2, 2, 150, 0.5, 0.0, null, Long.MAX_VALUE, 250, null, 0);

  private Upkeep() {}

  static void compact(Simulation simulation, Client client) {
    String branch = client.anyBranch();
    CompactionPolicy policy = client.random.nextBoolean() ? CompactionPolicy.FULL : SMALL;
    compact(simulation, client, branch, policy, true);
  }

  static void compact(
      Simulation simulation,
      Client client,
      String branch,
      CompactionPolicy policy,
      boolean isGivingWay) {
    CompactionPlan plan =
        new CompactionPlanner(client.table, branch, policy, simulation.actor().now()).plan();
    for (Compaction each : plan.compactions()) {
      List<DataFile> files =
          client.merged(
              each.plannedAt(),
              each.stretches(),
              each.of(),
              each.operation(""),
              each.dropsTombstones());
      Commits.Result result =
          simulation.change(
              Intent.NOTHING,
              () -> new Commits(client.table).make(new CompactionChange(branch, each, files)));
      if (!result.isCommitted() && !isGivingWay) {
        throw Model.broken(
            "nobody else works on %s, and its compaction gives way".formatted(branch));
      }
    }
  }

  /** Records which rows are superseded, which commits that come meanwhile may make more of. */
  static void settle(Simulation simulation, Client client) {
    String branch = client.anyBranch();
    CompactionPlan plan =
        new CompactionPlanner(
                client.table, branch, CompactionPolicy.SETTLE, simulation.actor().now())
            .plan();
    List<SettledBucket> found = plan.settlements().stream().map(client::settled).toList();
    if (!found.isEmpty()) {
      SettlementChange change = new SettlementChange(branch, SettledBuckets.of(plan, found));
      simulation.change(Intent.NOTHING, () -> new Commits(client.table).make(change));
    }
  }

  static void manifests(Simulation simulation, Client client) {
    simulation.change(Intent.NOTHING, () -> new Commits(client.table).make(new ManifestRewrite()));
  }

  static void buckets(Simulation simulation, Client client) {
    simulation.change(
        Intent.NOTHING, () -> BucketChange.make(client.table, 2L << client.random.nextInt(2)));
  }

  static void column(Simulation simulation, Client client) {
    String name = "new" + client.random.nextInt(3);
    simulation.change(
        Intent.NOTHING,
        () -> {
          SchemaChange.make(
              client.table,
              List.of(new ColumnChange.Add(List.of(name), LongType.get(), null, null)));
          return null;
        });
  }

  /** The table allows another lateness, or any. */
  static void lateness(Simulation simulation, Client client) {
    String allowed = client.any(List.of("0 seconds", "0 seconds", "1 second", "2 seconds", ""));
    simulation.change(
        Intent.NOTHING,
        () -> {
          UpdateProperties properties = CertainOperations.of(client.table).updateProperties();
          if (allowed.isEmpty()) {
            properties.remove(Lateness.PROPERTY);
          } else {
            properties.set(Lateness.PROPERTY, allowed);
          }
          properties.commit();
          return null;
        });
  }

  /** A consumer says how far it has come: what it needs does not expire. */
  static void consume(Simulation simulation, Client client) {
    Positions consumers = new Positions(client.table, Positions.Kind.CONSUMER);
    Long from = consumers.all().get("reader");
    Snapshot to = client.anySnapshot();
    boolean isForgotten = from != null && client.random.nextInt(3) == 0;
    if (to != null) {
      simulation.change(
          Intent.NOTHING,
          () -> {
            consumers.move("reader", from, isForgotten ? null : Long.valueOf(to.snapshotId()));
            return null;
          });
    }
  }

  static void clean(Simulation simulation, Client client) {
    simulation.changes(
        Simulation.CLEANING,
        () -> Housekeeping.run(client.table, anyPolicy(client.random), simulation.actor().now()));
  }

  private static RetentionPolicy anyPolicy(Random random) {
    int snapshots = 1 + random.nextInt(3);
    return new RetentionPolicy(
        random.nextInt(5) == 0 ? null : random.nextInt(3) == 0 ? 1.0 : 0.0,
        snapshots,
        random.nextBoolean() ? null : Integer.valueOf(snapshots + random.nextInt(3)),
        3,
        random.nextInt(3) == 0 ? 0.0 : null,
        0,
        30);
  }

  /** Reads what the client knows, which may have expired. */
  static void read(Simulation simulation, Client client) {
    Snapshot at = client.anySnapshot();
    List<Write> state = at == null ? null : simulation.model.state(at.snapshotId());
    if (state == null || isMerged(simulation, client, at)) {
      return;
    }
    try {
      Wanted wanted = client.random.nextBoolean() ? Wanted.HISTORY : Wanted.ROWS;
      Simulation.compare("snapshot " + at.snapshotId(), client, at.snapshotId(), wanted, state);
    } catch (NotFoundException e) {
      if (simulation.isThere(at.snapshotId())) {
        throw Model.broken("snapshot %d is there, and %s".formatted(at.snapshotId(), e));
      }
      throw e;
    }
  }

  /** Reads what the commits of a range have written, whatever became of their files since. */
  static void feed(Simulation simulation, Client client) {
    Snapshot until = client.anySnapshot();
    Snapshot after = until;
    for (int back = client.random.nextInt(5); after != null && back >= 0; back--) {
      after = after.parentId() == null ? null : client.table.snapshot(after.parentId());
    }
    if (until == null || after == null || isMerged(simulation, client, until)) {
      return;
    }
    List<Write> written = new ArrayList<>(simulation.state(until.snapshotId()));
    written.removeAll(simulation.state(after.snapshotId()));
    if (written.stream().allMatch(each -> each.kind == Write.Kind.UPDATE)) {
      Simulation.compare(
          "the range after %d up to %d".formatted(after.snapshotId(), until.snapshotId()),
          written,
          client.expected(written, Wanted.HISTORY),
          client.readRange(after.snapshotId(), until.snapshotId()));
    }
  }

  /** Tombstones are dropped where a branch is merged for others. */
  private static boolean isMerged(Simulation simulation, Client client, @Nullable Snapshot at) {
    for (Snapshot each = at; each != null; ) {
      if (simulation.merged.contains(each.snapshotId())) {
        return true;
      }
      Long parent = each.parentId();
      each = parent == null ? null : client.table.snapshot(parent);
    }
    return false;
  }

  /** The clock of a server jumps. */
  static void clock(Simulation simulation, Client client) {
    simulation.actor().server.aheadMillis =
        client.any(List.of(0L, 0L, 30_000L, -40_000L, 600_000L, -3_600_000L, 5 * 86_400_000L));
  }

  static void time(Simulation simulation, Client client) {
    simulation.pass(Duration.ofHours(1 + client.random.nextInt(40)));
  }
}
