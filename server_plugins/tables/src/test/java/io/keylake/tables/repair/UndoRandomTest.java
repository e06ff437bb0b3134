package io.keylake.tables.repair;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeLaw;
import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.RandomRuns;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.compaction.Compaction;
import io.keylake.tables.compaction.CompactionChange;
import io.keylake.tables.compaction.CompactionPlan;
import io.keylake.tables.compaction.CompactionPlanner;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.ChangePlan;
import io.keylake.tables.planning.ChangePlanner;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.planning.PlannedRead;
import io.keylake.tables.planning.PlannedRead.Answer;
import io.keylake.tables.planning.ReadPlanner.Wish;
import io.keylake.tables.planning.SectionPlan;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.SnapshotUtil;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random writes, overwrites, drops of files and compactions, and undos of random ranges of all of
 * these, of undos, too. After each step a read gives what the law makes of the commits that count,
 * and so do the changes and the writes between two random commits.
 */
@Tag("random")
class UndoRandomTest {
  private static final int STEPS = 14;
  private static final int KEYS = 8;
  private static final int PARTITIONS = 2;
  private static final List<String> COLUMNS = List.of("a", "b", "c", "d", "e");

  /** What was seen, over all rounds: no test passes because nothing was undone. */
  private final Map<String, Integer> seen = new TreeMap<>();

  /** A commit: rows by files, partitions that it empties, files and commits that it takes out. */
  private record Made(
      long snapshotId,
      Map<String, List<WrittenRow>> files,
      Set<Long> replaces,
      Set<String> dropped,
      Set<Long> undone) {}

  /** A table and its model. */
  private final class Twin {
    final Random random;
    final MemoryTable table;
    final List<Made> made = new ArrayList<>();
    int files;

    Twin(Random random) {
      this.random = random;
      this.table = MemoryTable.partitioned("explicit", 1 + random.nextInt(3));
    }

    /** The commits that count among the first so many, by definition. */
    List<Made> counting(List<Made> commits) {
      return commits.stream().filter(each -> counts(each, commits)).toList();
    }

    private boolean counts(Made commit, List<Made> commits) {
      return commits.subList(commits.indexOf(commit) + 1, commits.size()).stream()
          .noneMatch(
              later -> later.undone().contains(commit.snapshotId()) && counts(later, commits));
    }

    /** What these commits leave, by the law. */
    List<Answer> expected(List<Made> commits, Wanted wanted) {
      List<Map<String, List<WrittenRow>>> written = new ArrayList<>();
      for (Made commit : counting(commits)) {
        written.forEach(
            files -> {
              files.keySet().removeAll(commit.dropped());
              files
                  .values()
                  .removeIf(rows -> commit.replaces().contains(rows.get(0).key().second()));
            });
        written.add(new LinkedHashMap<>(commit.files()));
      }
      List<List<WrittenRow>> rows =
          written.stream()
              .map(files -> files.values().stream().flatMap(List::stream).toList())
              .toList();
      return MergeLaw.history(rows, MemoryTable.REDUCTIONS).stream()
          .filter(row -> wanted == Wanted.HISTORY || row.isVisible())
          .map(row -> Answer.of(table, row, COLUMNS, wanted != Wanted.ROWS))
          .toList();
    }

    void write() {
      Map<String, List<WrittenRow>> rows = files(rows(Set.of(0L, 1L)));
      table.make(new Append(null, stored(rows), WriteSummaries.of("update")));
      keep(rows, Set.of(), Set.of(), Set.of());
    }

    void overwrite() {
      boolean isWhole = random.nextBoolean();
      long partition = random.nextInt(PARTITIONS);
      Set<Long> replaces = isWhole ? Set.of(0L, 1L) : Set.of(partition);
      Expression filter = isWhole ? Expressions.alwaysTrue() : Expressions.equal("l", partition);
      Map<String, List<WrittenRow>> rows =
          files(random.nextInt(4) == 0 ? List.of() : rows(replaces));
      table.make(new Overwrite(null, filter, stored(rows), WriteSummaries.of("overwrite")));
      keep(rows, replaces, Set.of(), Set.of());
    }

    /** Takes out a file that was never merged. */
    void drop() {
      Set<String> there = new HashSet<>();
      table.table.newScan().planFiles().forEach(task -> there.add(task.file().location()));
      List<String> candidates = there.stream().filter(name -> name.startsWith("w")).toList();
      if (!candidates.isEmpty()) {
        Set<String> chosen = Set.of(candidates.get(random.nextInt(candidates.size())));
        assertTrue(FileChange.drop(table.table, null, chosen).commit());
        keep(Map.of(), Set.of(), chosen, Set.of());
      }
    }

    void compact() throws IOException {
      CompactionPlan plan =
          new CompactionPlanner(table.table, null, CompactionPolicy.FULL, Instant.now()).plan();
      for (Compaction compaction : plan.compactions()) {
        List<DataFile> merged =
            merged(compaction.plannedAt(), compaction.stretches(), "compact").stream().toList();
        table.make(new CompactionChange(null, compaction, merged));
        table.table.refresh();
      }
    }

    void undo() throws IOException {
      List<Snapshot> commits = new ArrayList<>();
      SnapshotUtil.ancestorsOf(table.head(), table.table::snapshot).forEach(commits::add);
      int until = random.nextInt(commits.size());
      int after = until + 1 + random.nextInt(Math.min(5, commits.size() - until));
      CommitRange range =
          CommitRange.of(
              table.table,
              after == commits.size() ? CommitRange.BEGINNING : commits.get(after).snapshotId(),
              commits.get(until).snapshotId());
      if (range.writes().isEmpty()) {
        return;
      }
      Undo undo = Undo.of(table.table, null, range);
      List<DataFile> merged = new ArrayList<>();
      for (Undo.Bucket bucket : undo.buckets()) {
        if (!bucket.merged().sections().isEmpty()) {
          merged.addAll(merged(table.head(), List.of(bucket.merged()), "undo"));
        }
      }
      table.make(new UndoChange(null, undo, merged));
      keep(Map.of(), Set.of(), Set.of(), new HashSet<>(range.ids()));
      saw(undo.isMetadataOnly() ? "undo in metadata" : "undo with a merge");
      range.commits().stream().filter(WriteSummary::isUndo).forEach(each -> saw("undo of an undo"));
    }

    private void keep(
        Map<String, List<WrittenRow>> rows,
        Set<Long> replaces,
        Set<String> dropped,
        Set<Long> undone) {
      table.table.refresh();
      made.add(new Made(table.head(), rows, replaces, dropped, undone));
    }

    private List<WrittenRow> rows(Set<Long> partitions) {
      List<Long> of = List.copyOf(partitions);
      List<WrittenRow> rows = new ArrayList<>();
      for (int i = 1 + random.nextInt(6); i > 0; i--) {
        Key key = new Key(random.nextInt(KEYS), of.get(random.nextInt(of.size())));
        long version = random.nextInt(4);
        boolean isTombstone = random.nextInt(5) == 0;
        Map<String, Cell> cells = new HashMap<>();
        for (String leaf : isTombstone ? List.<String>of() : List.of("a", "b", "d")) {
          if (random.nextBoolean()) {
            cells.put(leaf, new Cell(version, List.of((long) random.nextInt(100))));
          }
        }
        rows.add(new WrittenRow(key, version, isTombstone, cells));
      }
      return rows;
    }

    private Map<String, List<WrittenRow>> files(List<WrittenRow> rows) {
      Map<List<Long>, List<WrittenRow>> byBucket = new LinkedHashMap<>();
      for (WrittenRow row : rows) {
        byBucket
            .computeIfAbsent(
                List.of(row.key().second(), (long) table.bucket(row.key())),
                bucket -> new ArrayList<>())
            .add(row);
      }
      Map<String, List<WrittenRow>> files = new LinkedHashMap<>();
      byBucket.values().forEach(of -> files.put("w" + this.files++, of));
      return files;
    }

    private List<DataFile> stored(Map<String, List<WrittenRow>> files) {
      List<DataFile> stored = new ArrayList<>();
      files.forEach(
          (name, rows) ->
              stored.add(
                  table.file(name, MergeLaw.history(List.of(rows), MemoryTable.REDUCTIONS))));
      return stored;
    }

    private List<DataFile> merged(long at, List<BucketPlan> stretches, String name)
        throws IOException {
      List<DataFile> merged = new ArrayList<>();
      for (BucketPlan stretch : stretches) {
        List<StoredRow> rows =
            new PlannedRead(table, wish(at, null, Wanted.HISTORY), List.of(stretch))
                .answers().stream().map(this::row).toList();
        if (!rows.isEmpty()) {
          merged.add(table.file(name + files++, rows));
        }
      }
      return merged;
    }

    private StoredRow row(Answer answer) {
      Map<String, Cell> cells = new HashMap<>();
      answer
          .stamps()
          .forEach(
              (name, at) -> {
                if (name.startsWith("columns.")) {
                  String leaf = name.substring("columns.".length());
                  List<Long> values = new ArrayList<>();
                  for (NestedField column : table.schema.valuesByLeaf().get(leaf)) {
                    values.add(answer.values().get(column.name()));
                  }
                  cells.put(leaf, new Cell(at, values));
                }
              });
      return new StoredRow(
          answer.key(), answer.stamps().get("written"), answer.stamps().get("deleted"), cells);
    }

    private Wish wish(Long at, Long after, Wanted wanted) {
      Set<Integer> ids =
          COLUMNS.stream()
              .map(name -> table.schema.table().findField(name).fieldId())
              .collect(Collectors.toSet());
      return new Wish(
          at, after, Expressions.alwaysTrue(), Expressions.alwaysTrue(), ids, wanted, true);
    }

    void check() throws IOException {
      Wish all = wish(table.head(), null, Wanted.HISTORY);
      assertEquals(expected(made, Wanted.HISTORY), new PlannedRead(table, all).answers());
      int until = random.nextInt(made.size()) + 1;
      int after = random.nextInt(until);
      checkChanges(after, until);
      checkAppended(after, until);
    }

    private CommitRange range(int after, int until) {
      return CommitRange.of(
          table.table,
          after == 0 ? CommitRange.BEGINNING : made.get(after - 1).snapshotId(),
          made.get(until - 1).snapshotId());
    }

    private void checkChanges(int after, int until) throws IOException {
      CommitRange range = range(after, until);
      ChangePlan plan =
          new ChangePlanner(table.table, table.schema, Expressions.alwaysTrue()).plan(range);
      Map<Key, Answer> before = new TreeMap<>();
      Map<Key, Answer> now = new TreeMap<>();
      for (ChangePlan.Bucket bucket : plan.buckets()) {
        for (ChangePlan.Stretch stretch : bucket.stretches()) {
          Set<Key> touched =
              stretch.touching().stream()
                  .flatMap(file -> table.rows(file.location()).stream())
                  .map(StoredRow::key)
                  .collect(Collectors.toSet());
          read(before, range.after(), bucket, stretch.before(), touched);
          read(now, range.last().snapshotId(), bucket, stretch.after(), touched);
        }
      }
      Map<Key, Answer> wasBefore = byKey(expected(made.subList(0, after), Wanted.ROWS));
      Map<Key, Answer> isNow = byKey(expected(made.subList(0, until), Wanted.ROWS));
      assertEquals(difference(wasBefore, isNow), difference(before, now), "changes");
    }

    private void read(
        Map<Key, Answer> into,
        Long at,
        ChangePlan.Bucket bucket,
        List<SectionPlan> sections,
        Set<Key> touched)
        throws IOException {
      new PlannedRead(
              table,
              wish(at, null, Wanted.ROWS),
              List.of(new BucketPlan(bucket.partition(), sections)))
          .answers().stream()
              .filter(answer -> touched.contains(answer.key()))
              .forEach(answer -> into.put(answer.key(), answer));
    }

    private static Map<Key, Answer> byKey(List<Answer> answers) {
      return answers.stream().collect(Collectors.toMap(Answer::key, answer -> answer));
    }

    private static Map<Key, List<Answer>> difference(
        Map<Key, Answer> before, Map<Key, Answer> after) {
      Map<Key, List<Answer>> difference = new TreeMap<>();
      Set<Key> keys = new HashSet<>(before.keySet());
      keys.addAll(after.keySet());
      for (Key key : keys) {
        if (!Objects.equals(before.get(key), after.get(key))) {
          difference.put(key, Arrays.asList(before.get(key), after.get(key)));
        }
      }
      return difference;
    }

    private void checkAppended(int after, int until) throws IOException {
      CommitRange range = range(after, until);
      long begin = range.after() == null ? CommitRange.BEGINNING : range.after();
      Wish wish = wish(range.last().snapshotId(), begin, Wanted.HISTORY);
      try {
        assertEquals(
            expected(made.subList(after, until), Wanted.HISTORY),
            new PlannedRead(table, wish).answers(),
            "appended");
      } catch (KeylakeException e) {
        assertTrue(e.getMessage().contains("took out file"), e.getMessage());
      }
    }
  }

  private void saw(String what) {
    seen.merge(what, 1, Integer::sum);
  }

  @Test
  void theCommitsThatCountGiveTheAnswers() {
    RandomRuns.of(15, this::check);
    assertEquals(Set.of("undo in metadata", "undo of an undo", "undo with a merge"), seen.keySet());
    assertTrue(seen.values().stream().allMatch(times -> times > 5), seen.toString());
  }

  private void check(Random random) throws Exception {
    Twin twin = new Twin(random);
    twin.write();
    StringBuilder steps = new StringBuilder("steps");
    try {
      for (int step = 0; step < STEPS; step++) {
        switch (random.nextInt(10)) {
          case 0, 1, 2 -> twin.write();
          case 3, 4 -> twin.overwrite();
          case 5 -> twin.compact();
          case 6 -> twin.drop();
          default -> twin.undo();
        }
        steps.append(", ").append(twin.table.table.currentSnapshot().summary().get("keylake.verb"));
        twin.check();
      }
    } catch (AssertionError | RuntimeException e) {
      throw new AssertionError("%s: %s".formatted(steps, e.getMessage()), e);
    }
  }
}
