package io.keylake.tables.simulator;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.WrittenRow;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.quarantine.HeldWrite;
import io.keylake.tables.quarantine.Quarantine;
import io.keylake.tables.quarantine.Release;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;

/** Operations on rows that writes have held back. */
final class HeldRows {
  private HeldRows() {}

  /** A write to main of which some rows fail a condition. */
  static void write(Simulation simulation, Client client) {
    List<WrittenRow> passing = client.rows();
    List<WrittenRow> failing = client.rows();
    String key = client.random.nextInt(3) == 0 ? "key" + client.random.nextInt(2) : null;
    WriteLabels labels = key == null ? Writing.upTo(passing) : WriteLabels.NONE.once(key);
    List<DataFile> files = client.added("main", passing);
    List<DataFile> held = client.written(failing);
    Write write = updated("write of some rows", "main", simulation, passing, files, key);
    Write apart = updated("held rows", Quarantine.BRANCH, simulation, failing, held, null);
    HeldWrite change =
        new HeldWrite(
            new Append("main", files, Writing.summary("update", passing, labels)),
            held,
            Writing.summary("update", failing, WriteLabels.NONE),
            List.of("a > " + client.random.nextInt(2)));
    Intent intent = new Intent(write, apart, Set.of(Quarantine.BRANCH), false, Set.of());
    Writing.make(simulation, client, intent, write, change);
  }

  private static Write updated(
      String what,
      String branch,
      Simulation simulation,
      List<WrittenRow> rows,
      List<DataFile> files,
      String key) {
    return new Write(
        Writing.named(simulation, what),
        Write.Kind.UPDATE,
        rows,
        Writing.locations(files),
        key,
        null,
        Set.of(),
        Set.of(branch),
        null);
  }

  /** All held rows come to main, or go. */
  static void release(Simulation simulation, Client client) {
    Quarantine quarantine = Quarantine.of(client.table);
    Snapshot head = quarantine.head();
    if (head == null || quarantine.rows() == 0) {
      return;
    }
    boolean isToMain = client.random.nextInt(3) > 0;
    KeyedSchema schema = KeyedSchema.ofBranch(client.table, Quarantine.BRANCH);
    ReadSpec all = ReadSpec.ofAllColumns(schema, head.snapshotId(), Wanted.HISTORY);
    TreeMap<Long, List<DataFile>> byCommit = new TreeMap<>();
    new ReadPlanner(client.table, schema, all)
        .files().values().stream()
            .flatMap(Collection::stream)
            .map(FileScanTask::file)
            .forEach(
                file ->
                    byCommit
                        .computeIfAbsent(file.dataSequenceNumber(), number -> new ArrayList<>())
                        .add(file));
    List<Write> held = simulation.state(head.snapshotId());
    Release release =
        new Release(quarantine, List.copyOf(byCommit.values()), null, isToMain, WriteLabels.NONE);
    Commits.Result result =
        simulation.change(
            new Intent(null, null, Set.of(Quarantine.BRANCH), false, Set.of("main")),
            () -> new Commits(client.table).make(release));
    if (result.isCommitted()
        && isToMain
        && !simulation.state(result.lastSnapshotId()).containsAll(held)) {
      throw Model.broken(
          "%s were released, and main has %s"
              .formatted(held, simulation.state(result.lastSnapshotId())));
    }
  }
}
