package io.keylake.tables.simulator;

import io.keylake.tables.branches.CherryPick;
import io.keylake.tables.branches.DroppedBranch;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.branches.MergedBranch;
import io.keylake.tables.branches.NewBranch;
import io.keylake.tables.branches.Publication;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Rollback;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.quarantine.Quarantine;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.util.SnapshotUtil;

/** Operations on branches. */
final class Branching {
  private static final Instant FIRST_DAY = Instant.parse("2019-01-01T00:00:00Z");
  private static final DateTimeFormatter STATE =
      DateTimeFormatter.ofPattern("'history_'uuuuMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);

  private Branching() {}

  static Instant day(int number) {
    return FIRST_DAY.plus(number, ChronoUnit.DAYS);
  }

  /** The branch of a business time. */
  static String state(Instant time) {
    return STATE.format(time);
  }

  static void branch(Simulation simulation, Client client) {
    String name = "tmp_" + client.random.nextInt(2);
    simulation.change(
        Intent.moving(name), () -> new Commits(client.table).make(new NewBranch(name)));
  }

  static void drop(Simulation simulation, Client client) {
    List<String> names = client.branches("tmp_");
    if (!names.isEmpty()) {
      String name = client.any(names);
      simulation.change(
          Intent.moving(name), () -> new Commits(client.table).make(new DroppedBranch(name)));
    }
  }

  static void publish(Simulation simulation, Client client) {
    List<String> names = client.branches("tmp_");
    if (names.isEmpty()) {
      return;
    }
    String name = client.any(names);
    Publication publication = Publication.of(client.table, name);
    Publication.Done done =
        simulation.change(
            new Intent(null, null, Set.of("main"), false, Set.of("main")),
            () -> publication.publish(null));
    List<Write> now = simulation.state(done.snapshotId());
    List<Write> branch = new ArrayList<>(Model.counting(simulation.state(publication.head())));
    branch.removeIf(write -> write.kind == Write.Kind.UNDO || isKnown(write, now));
    if (!now.containsAll(branch)) {
      throw Model.broken("branch %s had %s, and was published as %s".formatted(name, branch, now));
    }
  }

  /** Another write has its key, so that it is a repetition. */
  private static boolean isKnown(Write write, List<Write> state) {
    return write.key != null
        && state.stream().anyMatch(each -> each != write && write.key.equals(each.key));
  }

  static void pick(Simulation simulation, Client client) {
    List<String> names = new ArrayList<>(client.branches(""));
    names.removeIf(name -> name.startsWith("history_") || name.equals(Quarantine.BRANCH));
    if (names.size() < 2) {
      return;
    }
    String from = client.any(names);
    names.remove(from);
    String to = client.any(names);
    List<Snapshot> commits = new ArrayList<>();
    long head = client.table.refs().get(from).snapshotId();
    SnapshotUtil.ancestorsOf(head, client.table::snapshot).forEach(commits::add);
    Snapshot picked = client.any(commits);
    if (picked.parentId() != null && client.table.snapshot(picked.parentId()) == null) {
      return;
    }
    CommitRange range = new CommitRange(picked.parentId(), List.of(picked));
    CherryPick pick = CherryPick.of(client.table, to, range, Expressions.alwaysTrue(), null);
    long snapshotId =
        simulation.change(new Intent(null, null, Set.of(), false, Set.of(to)), pick::run);
    for (Write write : simulation.state(head)) {
      if (write.snapshots.contains(picked.snapshotId())
          && !simulation.state(snapshotId).contains(write)) {
        throw Model.broken("%s was picked, and is not there".formatted(write));
      }
    }
  }

  static void rollback(Simulation simulation, Client client) {
    String branch = client.anyBranch();
    Snapshot to = client.anySnapshot();
    if (to != null) {
      simulation.change(
          Intent.moving(branch),
          () -> new Commits(client.table).make(new Rollback(branch, to.snapshotId())));
    }
  }

  static void archive(Simulation simulation, Client client) {
    Instant day = day(client.random.nextInt(4));
    simulation.changes(
        new Intent(null, null, Set.of("history_*"), false, Set.of("history_*")),
        () -> new HistoryBranches(client.table).archive(day, null));
  }

  /** The branch for other engines: each key once, and no tombstones. */
  static void merged(Simulation simulation, Client client) {
    Intent intent = Intent.moving("merged*");
    MergedBranch merged = simulation.change(intent, () -> MergedBranch.begin(client.table));
    client.table.refresh();
    String working =
        client.table.refs().keySet().stream()
            .filter(name -> merged.toString().contains(name) && !name.equals("merged"))
            .findFirst()
            .orElseThrow();
    Upkeep.compact(simulation, client, working, CompactionPolicy.MERGED, true);
    client.table.refresh();
    simulation.change(intent, () -> merged.publish(client.table));
  }
}
