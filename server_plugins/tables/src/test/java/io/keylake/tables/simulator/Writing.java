package io.keylake.tables.simulator;

import io.keylake.merge.WrittenRow;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.commits.SourceOffsets;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.repair.Undo;
import io.keylake.tables.repair.UndoChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/** Operations that change what a table says of rows. */
final class Writing {
  private Writing() {}

  static void write(Simulation simulation, Client client) {
    String branch = client.anyBranch();
    List<WrittenRow> rows = client.rows();
    WriteLabels labels = WriteLabels.NONE;
    String key = null;
    long[] offsets = null;
    int kind = client.random.nextInt(3);
    if (kind == 0) {
      key = "key" + client.random.nextInt(2);
      labels = labels.once(key);
    } else if (kind == 1) {
      long from =
          SourceOffsets.next(client.table, branch)
              .getOrDefault("source", (long) client.random.nextInt(3));
      offsets = new long[] {from, from + 1 + client.random.nextInt(3)};
      labels =
          labels.of(
              OffsetRanges.parse(
                  "offsets", "{\"source\": [%d, %d]}".formatted(offsets[0], offsets[1])));
    }
    if (kind == 2 && client.random.nextBoolean()) {
      labels = upTo(rows);
    }
    List<DataFile> files = client.added(branch, rows);
    Write write =
        new Write(
            named(simulation, "write to " + branch),
            Write.Kind.UPDATE,
            rows,
            locations(files),
            key,
            offsets,
            Set.of(),
            Set.of(branch),
            null);
    make(simulation, client, write, new Append(branch, files, summary("update", rows, labels)));
  }

  static void overwrite(Simulation simulation, Client client) {
    String branch = client.anyBranch();
    List<WrittenRow> rows = client.rows();
    List<DataFile> files = client.written(rows);
    Write write =
        new Write(
            named(simulation, "overwrite of " + branch),
            Write.Kind.OVERWRITE,
            rows,
            locations(files),
            null,
            null,
            Set.of(),
            Set.of(branch),
            null);
    make(
        simulation,
        client,
        write,
        new Overwrite(
            branch, Expressions.alwaysTrue(), files, summary("overwrite", rows, WriteLabels.NONE)));
  }

  /** A write of an earlier day, to the archived states since then. */
  static void late(Simulation simulation, Client client) {
    List<WrittenRow> rows = client.rows();
    Instant day = Branching.day(client.random.nextInt(4));
    List<DataFile> files = client.added("main", rows);
    Write write =
        new Write(
            named(simulation, "late write"),
            Write.Kind.UPDATE,
            rows,
            locations(files),
            null,
            null,
            Set.of(),
            Set.of("main", "history_*"),
            Branching.state(day));
    make(
        simulation,
        client,
        write,
        HistoryBranches.lateWrite(files, summary("update", rows, WriteLabels.NONE), day));
  }

  /** Takes back some of the last commits of a branch. */
  static void undo(Simulation simulation, Client client) {
    String branch = client.anyBranch();
    List<Snapshot> commits = new ArrayList<>();
    if (client.table.refs().get(branch) == null) {
      return;
    }
    long head = client.table.refs().get(branch).snapshotId();
    SnapshotUtil.ancestorsOf(head, client.table::snapshot).forEach(commits::add);
    int until = client.random.nextInt(Math.min(3, commits.size()));
    int after = until + 1 + client.random.nextInt(Math.min(3, commits.size() - until));
    CommitRange range =
        CommitRange.of(
            client.table,
            after == commits.size() ? CommitRange.BEGINNING : commits.get(after).snapshotId(),
            commits.get(until).snapshotId());
    if (range.writes().isEmpty()) {
      return;
    }
    Undo undo = Undo.of(client.table, branch, range);
    List<DataFile> merged = new ArrayList<>();
    for (Undo.Bucket bucket : undo.buckets()) {
      if (!bucket.merged().sections().isEmpty()) {
        merged.addAll(client.merged(head, List.of(bucket.merged()), undo.of(), "undo-", false));
      }
    }
    Write write =
        new Write(
            named(simulation, "undo of " + range.ids() + " on " + branch),
            Write.Kind.UNDO,
            List.of(),
            Set.of(),
            null,
            null,
            new HashSet<>(range.ids()),
            Set.of(branch),
            null);
    make(simulation, client, write, new UndoChange(branch, undo, merged));
  }

  /** The labels of a write whose stream is complete up to its rows: older ones are late. */
  static WriteLabels upTo(List<WrittenRow> rows) {
    return new WriteLabels(null, null, null, null, OffsetRanges.NONE, most(rows));
  }

  private static long most(List<WrittenRow> rows) {
    return rows.stream().mapToLong(WrittenRow::version).max().orElseThrow();
  }

  private static void make(Simulation simulation, Client client, Write write, Change change) {
    make(simulation, client, Intent.of(write), write, change);
  }

  /** Makes a write, and holds its answer against what the catalog has taken. */
  static void make(
      Simulation simulation, Client client, Intent intent, Write write, Change change) {
    Commits.Result result = simulation.change(intent, () -> new Commits(client.table).make(change));
    if (result.isCommitted() == write.snapshots.isEmpty()) {
      throw Model.broken(
          "%s answers committed=%s, and has the snapshots %s"
              .formatted(write, result.isCommitted(), write.snapshots));
    }
    if (result.isCommitted() && !write.snapshots.contains(result.lastSnapshotId())) {
      throw Model.broken("%s was not made with snapshot %s".formatted(write, result));
    }
    if (result.isRepeated() && write.key == null && write.offsets == null) {
      throw Model.broken("%s has no key, and counts as repeated".formatted(write));
    }
  }

  static String named(Simulation simulation, String what) {
    return "%s by %d (%d)".formatted(what, simulation.actor().number, simulation.turns.calls());
  }

  static Set<String> locations(List<DataFile> files) {
    return files.stream().map(DataFile::location).collect(Collectors.toSet());
  }

  static WriteSummary summary(String verb, List<WrittenRow> rows, @Nullable WriteLabels labels) {
    long least = rows.stream().mapToLong(WrittenRow::version).min().orElseThrow();
    return new WriteSummary(verb, rows.size(), least, most(rows), List.of("a", "b", "d"), labels);
  }
}
