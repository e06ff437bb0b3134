package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import io.keylake.tables.branches.CherryPick;
import io.keylake.tables.branches.DroppedBranch;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.branches.MergedBranch;
import io.keylake.tables.branches.NewBranch;
import io.keylake.tables.branches.Publication;
import io.keylake.tables.buckets.BucketChange;
import io.keylake.tables.commits.SteeredOperations.Commit;
import io.keylake.tables.experiments.Experiments;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.repair.Undo;
import io.keylake.tables.repair.UndoChange;
import io.keylake.tables.schema.ColumnChange;
import io.keylake.tables.schema.SchemaChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.NotAuthorizedException;
import org.apache.iceberg.exceptions.ServiceUnavailableException;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.types.Types.LongType;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/**
 * A change whose answer is lost, or whose request never arrives, says and leaves what it does where
 * nothing is lost; and no file that the table names is deleted.
 */
@Tag("random")
class LostAnswersTest {
  private static final WriteLabels LABELS = WriteLabels.NONE;

  /** A change of a table, which gives what it says to its user. */
  private interface Verb {
    Object run(Twin twin, Table table);
  }

  /** What happens to the first commit that is sent. */
  private interface Loss {
    void send(Runnable toCatalog, Runnable other);
  }

  /** A table as it is, with what the verbs need. */
  private static final class Twin {
    final MemoryTable memory = MemoryTable.partitioned("explicit", 1);
    final long first;
    final long second;
    final MergedBranch merged;

    Twin() {
      table().updateProperties().set("commit.status-check.min-wait-ms", "1").commit();
      memory.commit("1 a @10");
      first = memory.head();
      memory.make(new NewBranch("dev"));
      append(table(), "dev", "d", LABELS);
      new Experiments(table()).create("old", List.of(column("y")), List.of());
      memory.commit("2 a @20");
      table().refresh();
      second = memory.head();
      memory.make(new NewBranch("ahead"));
      append(table(), "ahead", "e", LABELS);
      merged = MergedBranch.begin(table());
      table().refresh();
    }

    Table table() {
      return memory.table;
    }

    Commits.Result append(Table table, String branch, String name, WriteLabels labels) {
      WriteSummary summary = new WriteSummary("update", 1, 1L, 1L, List.of("a"), labels);
      return new Commits(table).make(new Append(branch, List.of(file(name)), summary));
    }

    DataFile file(String name) {
      return memory.file(name, memory.stored("3 a @30"));
    }

    CommitRange ofDev() {
      return CommitRange.of(table(), first, table().refs().get("dev").snapshotId());
    }

    Table lossy(Loss loss) {
      TableOperations operations = ((BaseTable) table()).operations();
      boolean[] isLost = {false};
      Commit commit =
          toCatalog -> {
            if (isLost[0]) {
              toCatalog.run();
            } else {
              isLost[0] = true;
              loss.send(toCatalog, this::other);
            }
          };
      return new BaseTable(new SteeredOperations(operations, commit), table().name());
    }

    /** What somebody else does to the table. */
    void other() {
      new Commits(table()).make(new Append(null, List.of(), WriteSummaries.of("update")));
    }

    /** What can be told of the table without ids. */
    List<Object> state() {
      table().refresh();
      List<Object> state = new ArrayList<>();
      state.add(table().refs().keySet().stream().sorted().map(this::shown).toList());
      state.add(table().schema().columns());
      state.add(table().spec().fields());
      state.add(table().properties().keySet().stream().sorted().toList());
      return state;
    }

    private List<Object> shown(String branch) {
      List<String> files = new ArrayList<>();
      table()
          .newScan()
          .useRef(branch)
          .planFiles()
          .forEach(task -> files.add(task.file().location()));
      files.sort(Comparator.naturalOrder());
      String name = branch.startsWith(MergedBranch.NAME) ? MergedBranch.NAME : branch;
      return List.of(name, files, commits(table().refs().get(branch).snapshotId()));
    }

    private int commits(Long head) {
      int commits = 0;
      for (Long id = head; id != null; id = table().snapshot(id).parentId()) {
        commits++;
      }
      return commits;
    }

    void checkFiles() {
      InMemoryFileIO store = (InMemoryFileIO) ((HasTableOperations) table()).operations().io();
      for (Snapshot each : table().snapshots()) {
        assertTrue(store.fileExists(each.manifestListLocation()), each.toString());
        for (ManifestFile manifest : each.allManifests(store)) {
          assertTrue(store.fileExists(manifest.path()), manifest.path());
        }
      }
    }
  }

  private static ColumnChange.Add column(String name) {
    return new ColumnChange.Add(List.of(name), LongType.get(), null, null);
  }

  private static Map<String, Verb> verbs() {
    OffsetRanges offsets = OffsetRanges.parse("offsets", "{\"clicks-0\": [0, 100]}");
    Map<String, Verb> verbs = new LinkedHashMap<>();
    verbs.put("update", (twin, t) -> said(twin.append(t, null, "w", LABELS)));
    verbs.put("idempotency key", (twin, t) -> said(twin.append(t, null, "w", LABELS.once("k"))));
    verbs.put("offsets", (twin, t) -> said(twin.append(t, null, "w", LABELS.of(offsets))));
    verbs.put("branch write", (twin, t) -> said(twin.append(t, "dev", "w", LABELS.once("k"))));
    verbs.put("overwrite", LostAnswersTest::overwritten);
    verbs.put("rollback", (twin, t) -> made(t, new Rollback(null, twin.first)));
    verbs.put("undo", LostAnswersTest::undone);
    verbs.put("publish", (twin, t) -> Publication.of(t, "ahead").publish("[]").isFastForward());
    verbs.put("publish copies", (twin, t) -> Publication.of(t, "dev").publish("[]").commits());
    verbs.put("cherry_pick", LostAnswersTest::picked);
    verbs.put("branch", (twin, t) -> made(t, new NewBranch("new")));
    verbs.put("drop branch", (twin, t) -> made(t, new DroppedBranch("dev")));
    verbs.put("archive", (twin, t) -> new HistoryBranches(t).archive(Instant.EPOCH, null).size());
    verbs.put("merged", (twin, t) -> twin.merged.publish(t) != 0);
    verbs.put("manifests", (twin, t) -> made(t, new ManifestRewrite()));
    verbs.put("experiment", LostAnswersTest::tried);
    verbs.put("promotion", (twin, t) -> ended(() -> new Experiments(t).promote("old")));
    verbs.put("drop experiment", (twin, t) -> ended(() -> new Experiments(t).drop("old")));
    verbs.put("alter", (twin, t) -> altered(t, column("n")));
    verbs.put("rename", (twin, t) -> altered(t, new ColumnChange.Rename(List.of("a"), "z")));
    verbs.put("drop column", (twin, t) -> altered(t, new ColumnChange.Drop(List.of("b"), false)));
    verbs.put("buckets", (twin, t) -> BucketChange.make(t, 4));
    return verbs;
  }

  private static Object made(Table table, Change change) {
    return said(new Commits(table).make(change));
  }

  private static Object said(Commits.Result result) {
    return List.of(result.isCommitted(), result.isRepeated());
  }

  private static Object ended(Runnable run) {
    run.run();
    return true;
  }

  private static Object altered(Table table, ColumnChange change) {
    return ended(() -> SchemaChange.make(table, List.of(change)));
  }

  private static Object tried(Twin twin, Table table) {
    return new Experiments(table).create("new", List.of(column("x")), List.of()).name();
  }

  private static Object overwritten(Twin twin, Table table) {
    WriteSummary summary = new WriteSummary("overwrite", 1, 1L, 1L, List.of("a"), LABELS.once("k"));
    return made(
        table, new Overwrite(null, Expressions.alwaysTrue(), List.of(twin.file("w")), summary));
  }

  private static Object undone(Twin twin, Table table) {
    Undo undo = Undo.of(table, null, CommitRange.of(table, twin.first, twin.second));
    return made(table, new UndoChange(null, undo, List.of()));
  }

  private static Object picked(Twin twin, Table table) {
    return CherryPick.of(table, null, twin.ofDev(), Expressions.alwaysTrue(), null).run() != 0;
  }

  private static Map<String, Loss> losses() {
    Map<String, RuntimeException> failures =
        Map.of(
            "409", new CommitFailedException("conflict"),
            "503", new ServiceUnavailableException("busy"),
            "500", new CommitStateUnknownException(new IllegalStateException("failed")),
            "cut", new IllegalStateException("the connection was reset"));
    Map<String, Loss> losses = new LinkedHashMap<>();
    failures.forEach(
        (name, failure) -> {
          losses.put("before " + name, (toCatalog, other) -> fail(failure));
          losses.put("after " + name, (toCatalog, other) -> failAfter(toCatalog, failure));
          losses.put(
              "behind another, after " + name,
              (toCatalog, other) -> {
                toCatalog.run();
                failAfter(other, failure);
              });
        });
    losses.put(
        "after 401",
        (toCatalog, other) -> failAfter(toCatalog, new NotAuthorizedException("expired")));
    return losses;
  }

  private static void failAfter(Runnable first, RuntimeException failure) {
    first.run();
    fail(failure);
  }

  private static void fail(RuntimeException failure) {
    throw failure;
  }

  /** All losses with `make test-slow`, and else those that have destroyed tables. */
  private static Stream<Map.Entry<String, Loss>> chosen() {
    boolean isAll = Integer.getInteger("keylake.runs", 1) > 1;
    return losses().entrySet().stream()
        .filter(loss -> isAll || List.of("after 409", "before cut").contains(loss.getKey()));
  }

  @TestFactory
  Stream<DynamicTest> everyVerbAndEveryLoss() {
    return verbs().entrySet().stream()
        .flatMap(
            verb ->
                chosen()
                    .map(
                        loss ->
                            dynamicTest(
                                verb.getKey() + ", " + loss.getKey(),
                                () -> check(verb.getValue(), loss.getValue(), loss.getKey()))));
  }

  private static void check(Verb verb, Loss loss, String name) {
    Twin whole = new Twin();
    Object expected = verb.run(whole, whole.table());
    Twin twin = new Twin();
    Table lossy = twin.lossy(loss);
    assertEquals(expected, verb.run(twin, lossy));
    twin.checkFiles();
    if (name.startsWith("behind")) {
      whole.table().refresh();
      whole.other();
    }
    assertEquals(whole.state(), twin.state());
    twin.table().refresh();
    twin.other();
    twin.checkFiles();
  }
}
