package io.keylake.tables.repair;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.RandomRuns;
import io.keylake.merge.WrittenRow;
import io.keylake.tables.branches.DroppedBranch;
import io.keylake.tables.branches.NewBranch;
import io.keylake.tables.branches.Publication;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.ManifestRewrite;
import io.keylake.tables.commits.SteeredOperations;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.schema.ColumnChange.Add;
import io.keylake.tables.schema.ColumnChange.Drop;
import io.keylake.tables.schema.ColumnChange.Rename;
import io.keylake.tables.schema.ColumnChange.Widen;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.ServiceUnavailableException;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.IntegerType;
import org.apache.iceberg.types.Types.LongType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A long history with a catalog that fails at one call of twenty, before or after it has done what
 * it was asked. What a change says is true: one that has succeeded is in the table once, and one
 * that has failed is not. No file that a snapshot names is ever deleted.
 */
@Tag("random")
class RandomLossesTest {
  private static final int STEPS = 30;
  private static final int MANY_RUNS = 10;
  private static final int STEPS_OF_MANY_RUNS = 500;
  private static final int CALLS_PER_FAILURE = 20;
  private static final String BRANCH = "dev";
  private static final List<String> ADDED = List.of("x", "y", "z");

  /** How often what happened, over all rounds. */
  private final Map<String, Integer> seen = new TreeMap<>();

  private final StringBuilder steps = new StringBuilder();

  /** A catalog that fails at random. */
  private final class Failures {
    private final Random random;
    private boolean isQuiet = true;

    Failures(Random random) {
      this.random = random;
    }

    Table of(Table table) {
      return new BaseTable(
          new SteeredOperations(
              ((HasTableOperations) table).operations(),
              toCatalog -> send(toCatalog, table),
              () -> ask()),
          table.name());
    }

    private boolean fails() {
      return !isQuiet && random.nextInt(CALLS_PER_FAILURE) == 0;
    }

    private void ask() {
      if (fails()) {
        saw("question");
        throw failure(random.nextInt(2));
      }
    }

    private void send(Runnable toCatalog, Table table) {
      if (!fails()) {
        toCatalog.run();
        return;
      }
      boolean isTaken = random.nextBoolean();
      if (isTaken) {
        toCatalog.run();
        if (random.nextInt(3) == 0) {
          table.refresh();
          table.updateProperties().set("other", "" + random.nextInt()).commit();
        }
      }
      int kind = random.nextInt(4);
      saw(isTaken ? "answer" : "request");
      steps.append(kind);
      throw failure(kind);
    }

    private static RuntimeException failure(int kind) {
      return switch (kind) {
        case 0 -> new IllegalStateException("the connection was reset");
        case 1 -> new ServiceUnavailableException("busy");
        case 2 -> new CommitStateUnknownException(new IllegalStateException("failed"));
        default -> new CommitFailedException("conflict");
      };
    }
  }

  private void saw(String what) {
    steps.append(' ').append(what);
    seen.merge(what, 1, Integer::sum);
  }

  private int lost() {
    return Stream.of("answer", "question", "request")
        .mapToInt(each -> seen.getOrDefault(each, 0))
        .sum();
  }

  /** What a table and its model do beside the steps of other tests. */
  private static final class Steps {
    final CommitTwin twin;
    final Table table;
    final InMemoryFileIO store;
    private int times;

    Steps(CommitTwin twin) {
      this.twin = twin;
      this.table = twin.table.table;
      this.store = (InMemoryFileIO) table.io();
      table
          .updateProperties()
          .set("commit.status-check.min-wait-ms", "1")
          .set("commit.retry.min-wait-ms", "1")
          .set("commit.manifest.min-count-to-merge", "8")
          .commit();
    }

    /** With a sign by which it is known the next time. */
    void writeOnce() {
      times++;
      WriteLabels labels =
          times % 2 == 0
              ? WriteLabels.NONE.once("key " + times)
              : WriteLabels.NONE.of(
                  OffsetRanges.parse("offsets", "{\"part-%d\": [0, 9]}".formatted(times)));
      WriteSummary summary =
          new WriteSummary("update", 0, null, null, List.of("a", "b", "d"), labels);
      Map<String, List<WrittenRow>> rows = twin.files(twin.rows(Set.of(0L, 1L)));
      twin.make(new Append(null, twin.stored(rows), summary));
      twin.keep(rows, Set.of(), Set.of(), Set.of());
      Map<String, List<WrittenRow>> same = twin.files(twin.rows(Set.of(0L, 1L)));
      assertTrue(twin.made(new Append(null, twin.stored(same), summary)).isRepeated());
    }

    /** Adds a column, or gives one of those that were added another name or type, or drops it. */
    void changeColumns() {
      List<String> there = List.copyOf(twin.added.types.keySet());
      List<String> free = ADDED.stream().filter(name -> !there.contains(name)).toList();
      int kind = there.isEmpty() ? 0 : twin.random.nextInt(4);
      if (kind == 0 && !free.isEmpty()) {
        Add add = new Add(List.of(free.get(0)), IntegerType.get(), null, null);
        twin.added.change(add, free.get(0), IntegerType.get());
        return;
      }
      String name = there.get(twin.random.nextInt(there.size()));
      Type type = twin.added.types.get(name);
      if (kind == 1 && !free.isEmpty()) {
        twin.added.change(new Rename(List.of(name), free.get(0)), free.get(0), type);
      } else if (kind == 2 && type.equals(IntegerType.get())) {
        twin.added.change(new Widen(List.of(name), LongType.get()), name, LongType.get());
      } else {
        twin.added.change(new Drop(List.of(name), false), name, null);
      }
    }

    void publish() {
      dropBranch();
      twin.make(new NewBranch(BRANCH));
      Map<String, List<WrittenRow>> rows = twin.files(twin.rows(Set.of(0L, 1L)));
      twin.make(new Append(BRANCH, twin.stored(rows), WriteSummaries.of("update")));
      if (twin.random.nextBoolean()) {
        twin.write();
      }
      twin.changed.refresh();
      Publication.of(twin.changed, BRANCH).publish("[]");
      twin.keepPublished(rows);
      twin.make(new DroppedBranch(BRANCH));
    }

    /** What a step before has left. */
    private void dropBranch() {
      table.refresh();
      if (table.refs().containsKey(BRANCH)) {
        table.manageSnapshots().removeBranch(BRANCH).commit();
      }
    }

    void take(int step) throws IOException {
      twin.changed.refresh();
      switch (step) {
        case 0, 1 -> twin.write();
        case 2, 3 -> writeOnce();
        case 4 -> twin.overwrite();
        case 5 -> twin.compact();
        case 6 -> twin.drop();
        case 7 -> publish();
        case 8 -> twin.made(new ManifestRewrite());
        case 9 -> changeColumns();
        default -> twin.undo();
      }
    }

    void checkFiles() throws IOException {
      table.refresh();
      for (Snapshot each : table.snapshots()) {
        assertTrue(store.fileExists(each.manifestListLocation()), each.toString());
        for (ManifestFile manifest : each.dataManifests(store)) {
          assertTrue(store.fileExists(manifest.path()), manifest.path());
        }
      }
      for (ManifestFile manifest : table.currentSnapshot().dataManifests(store)) {
        try (CloseableIterable<String> paths =
            ManifestFiles.readPaths(manifest, store, table.specs())) {
          paths.forEach(path -> assertTrue(store.fileExists(path), path));
        }
      }
    }
  }

  @Test
  void whatAChangeSaysIsTrue() {
    if (Integer.getInteger("keylake.runs", 1) > MANY_RUNS) {
      check(new Random(1), STEPS_OF_MANY_RUNS);
      assertTrue(seen.keySet().containsAll(Set.of("answer", "question", "request")));
      assertTrue(seen.keySet().containsAll(Set.of("Add", "Drop", "Rename", "Widen")));
    }
    RandomRuns.of(1, random -> check(random, STEPS));
    assertTrue(seen.get("done") > seen.getOrDefault("failed", 0), seen.toString());
  }

  private void check(Random random, int count) {
    Failures failures = new Failures(random);
    Steps verbs = new Steps(new CommitTwin(random, failures::of));
    steps.setLength(0);
    try {
      verbs.twin.write();
      for (int number = 0; number < count; number++) {
        int step = random.nextInt(12);
        steps.append(", ").append(step);
        int before = lost();
        failures.isQuiet = false;
        try {
          verbs.take(step);
          saw("done");
        } catch (RuntimeException e) {
          saw("failed");
        }
        failures.isQuiet = true;
        if (lost() > before || number % 8 == 7) {
          verbs.twin.check();
          verbs.checkFiles();
        }
      }
      verbs.checkFiles();
      verbs.twin.seen.forEach((what, times) -> seen.merge(what, times, Integer::sum));
    } catch (AssertionError | RuntimeException | IOException e) {
      throw new AssertionError("steps%s: %s".formatted(steps, e.getMessage()), e);
    }
  }
}
