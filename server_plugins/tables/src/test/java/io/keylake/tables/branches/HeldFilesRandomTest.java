package io.keylake.tables.branches;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.RandomRuns;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Rollback;
import io.keylake.tables.compaction.Compaction;
import io.keylake.tables.compaction.CompactionChange;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.CommittedFiles;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTables;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.ExpireSnapshots;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.util.SnapshotUtil;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random writes, publications, picks of whole commits and of parts, compactions, rollbacks and
 * expiries, against a model that knows the files each branch has been given: none is ever there
 * twice, and none is missing.
 */
@Tag("random")
class HeldFilesRandomTest {
  private static final List<String> DRAFTS = List.of("one", "two");
  private static final int STEPS = 60;

  private final Table table = MemoryTables.partitioned().loadTable(MemoryTables.NAME);
  private final Map<String, Set<String>> model = new TreeMap<>();
  private final Map<Long, Set<String>> modelAt = new HashMap<>();
  private final Map<String, Set<String>> merged = new HashMap<>();
  private Random random;
  private boolean hasExpired;
  private int files;

  @Test
  void noFileIsThereTwiceAndNoneIsMissing() {
    RandomRuns.of(8, each -> new HeldFilesRandomTest().check(each));
  }

  private void check(Random each) {
    random = each;
    model.put("main", new TreeSet<>());
    write("main");
    for (String draft : DRAFTS) {
      table.manageSnapshots().createBranch(draft).commit();
      model.put(draft, new TreeSet<>(model.get("main")));
    }
    for (int step = 0; step < STEPS; step++) {
      String said = anyStep();
      table.refresh();
      for (String branch : model.keySet()) {
        assertEquals(
            new ArrayList<>(model.get(branch)), held(branch), "%d %s".formatted(step, said));
        modelAt.put(head(branch).snapshotId(), Set.copyOf(model.get(branch)));
      }
    }
  }

  private String anyStep() {
    String branch = any(new ArrayList<>(model.keySet()));
    return switch (random.nextInt(12)) {
      case 0, 1, 2, 3 -> write(branch);
      case 4, 5 -> publish(any(DRAFTS));
      case 6 -> pick(any(new ArrayList<>(model.keySet())), branch, null);
      case 7 -> pick(any(new ArrayList<>(model.keySet())), branch, 1 + random.nextInt(3));
      case 8, 9 -> compact(branch);
      case 10 -> rollback(branch);
      default -> expire();
    };
  }

  private <T> T any(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  private Snapshot head(String branch) {
    return new CommitLog(table, branch).head();
  }

  private DataFile file(String name) {
    return MemoryTables.dayFile(table, name);
  }

  private List<FileScanTask> live(String branch) {
    List<FileScanTask> live = new ArrayList<>();
    long snapshot = head(branch).snapshotId();
    TableScan scan = table.newScan().useSnapshot(snapshot).planWith(MemoryTables.THIS_THREAD);
    scan.planFiles().forEach(live::add);
    return live;
  }

  /** With each file as often as it is there, by itself or merged with others. */
  private List<String> held(String branch) {
    List<String> held = new ArrayList<>();
    for (FileScanTask task : live(branch)) {
      String name = task.file().location();
      held.addAll(merged.getOrDefault(name, Set.of(name)));
    }
    held.sort(null);
    return held;
  }

  private String write(String branch) {
    List<DataFile> written = new ArrayList<>();
    for (int i = 0; i <= random.nextInt(3); i++) {
      String name = "%d-%d".formatted(1 + random.nextInt(3), ++files);
      written.add(file(name));
      model.get(branch).add(name);
    }
    assertTrue(
        new Commits(table)
            .make(new Append(branch, written, WriteSummaries.of("update")))
            .isCommitted());
    return "write to " + branch;
  }

  private String publish(String branch) {
    try {
      Publication.of(table, branch).publish("[]");
      model.get("main").addAll(model.get(branch));
    } catch (KeylakeException e) {
      if (e.kind() == Kind.NOTHING_TO_DO) {
        assertTrue(model.get("main").containsAll(model.get(branch)), e.getMessage());
      } else {
        assertTrue(e.kind() == Kind.SNAPSHOT_EXPIRED && hasExpired, e.getMessage());
      }
    }
    return "publish " + branch;
  }

  /** Of a day, or all. */
  private String pick(String from, String to, Integer day) {
    List<Snapshot> newestFirst = new ArrayList<>();
    SnapshotUtil.ancestorsOf(head(from).snapshotId(), table::snapshot).forEach(newestFirst::add);
    int until = random.nextInt(newestFirst.size());
    int after = until + random.nextInt(newestFirst.size() - until);
    if (after == until) {
      return "pick of nothing";
    }
    CommitRange range =
        CommitRange.of(
            table, newestFirst.get(after).snapshotId(), newestFirst.get(until).snapshotId());
    Set<String> picked = new TreeSet<>();
    for (Snapshot each : range.commits()) {
      if (!WriteSummary.isTidying(each)) {
        CommittedFiles.of(table, each).stream()
            .map(DataFile::location)
            .filter(name -> day == null || name.startsWith(day + "-"))
            .forEach(picked::add);
      }
    }
    Expression condition =
        day == null ? Expressions.alwaysTrue() : Expressions.equal("day", "2026-01-0" + day);
    try {
      CherryPick.of(table, to, range, condition, day == null ? null : "day " + day).run();
      model.get(to).addAll(picked);
    } catch (KeylakeException e) {
      assertEquals(Kind.NOTHING_TO_DO, e.kind(), e.getMessage());
      assertTrue(model.get(to).containsAll(picked), e.getMessage());
    }
    return "pick from %s to %s, day %s".formatted(from, to, day);
  }

  private String compact(String branch) {
    List<FileScanTask> live = live(branch);
    if (live.size() < 2) {
      return "no compaction";
    }
    List<DataFile> inputs = new ArrayList<>();
    Set<String> held = new TreeSet<>();
    long age = 0;
    for (FileScanTask task : live.subList(0, 2 + random.nextInt(live.size() - 1))) {
      inputs.add(task.file());
      String name = task.file().location();
      held.addAll(merged.getOrDefault(name, Set.of(name)));
      age = Math.max(age, task.file().dataSequenceNumber());
    }
    String name = "%d-%d-merged".formatted(1 + random.nextInt(3), ++files);
    merged.put(name, held);
    Compaction compaction =
        new Compaction(
            List.of(),
            1,
            head(branch).snapshotId(),
            inputs,
            List.of(),
            List.of(),
            age,
            "test",
            "test",
            false,
            "");
    assertTrue(
        new Commits(table)
            .make(new CompactionChange(branch, compaction, List.of(file(name))))
            .isCommitted());
    return "compaction of " + branch;
  }

  private String rollback(String branch) {
    List<Long> known = new ArrayList<>();
    for (long each : SnapshotUtil.ancestorIds(head(branch), table::snapshot)) {
      if (modelAt.containsKey(each)) {
        known.add(each);
      }
    }
    if (known.isEmpty() || random.nextInt(3) > 0) {
      return "no rollback";
    }
    long to = any(known);
    new Commits(table).make(new Rollback(branch, to));
    model.put(branch, new TreeSet<>(modelAt.get(to)));
    return "rollback of " + branch;
  }

  private String expire() {
    hasExpired = true;
    table
        .expireSnapshots()
        .expireOlderThan(System.currentTimeMillis() + 1000)
        .retainLast(1 + random.nextInt(3))
        .cleanupLevel(ExpireSnapshots.CleanupLevel.NONE)
        .commit();
    return "expiry";
  }
}
