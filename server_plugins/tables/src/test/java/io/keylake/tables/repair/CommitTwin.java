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
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
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
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.request.ReadScope;
import io.keylake.tables.planning.request.ReadSpec;
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
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.SnapshotUtil;

/** A table in memory that random commits change, and its model: the commits that count. */
final class CommitTwin {
  private static final int KEYS = 8;
  private static final int PARTITIONS = 2;

  /** A commit: rows by files, partitions that it empties, files and commits that it takes out. */
  record Made(
      long snapshotId,
      Map<String, List<WrittenRow>> files,
      Set<Long> replaces,
      Set<String> dropped,
      Set<Long> undone) {}

  final Random random;
  final MemoryTable table;

  /** What was seen: no test passes because nothing was undone. */
  final Map<String, Integer> seen = new TreeMap<>();

  final List<Made> made = new ArrayList<>();

  /** The same table as changes reach it. */
  final Table changed;

  final AddedColumns added = new AddedColumns(this);

  private int files;

  CommitTwin(Random random) {
    this(random, table -> table);
  }

  /**
   * @param reached the table as changes reach it
   */
  CommitTwin(Random random, UnaryOperator<Table> reached) {
    this.random = random;
    this.table = MemoryTable.partitioned("explicit", 1 + random.nextInt(3));
    this.changed = reached.apply(table.table);
  }

  void make(Change change) {
    assertTrue(made(change).isCommitted(), change.toString());
  }

  Commits.Result made(Change change) {
    return new Commits(changed).make(change);
  }

  /** The commits that count among the first so many: no later one that counts has undone them. */
  List<Made> counting(List<Made> commits) {
    Set<Long> undone = new HashSet<>();
    List<Made> counting = new ArrayList<>();
    for (int i = commits.size() - 1; i >= 0; i--) {
      Made commit = commits.get(i);
      if (!undone.contains(commit.snapshotId())) {
        undone.addAll(commit.undone());
        counting.add(0, commit);
      }
    }
    return counting;
  }

  /** What these commits leave, by the law. */
  List<Answer> expected(List<Made> commits, Wanted wanted) {
    List<Map<String, List<WrittenRow>>> written = new ArrayList<>();
    for (Made commit : counting(commits)) {
      written.forEach(
          files -> {
            files.keySet().removeAll(commit.dropped());
            files.values().removeIf(rows -> commit.replaces().contains(rows.get(0).key().second()));
          });
      written.add(new LinkedHashMap<>(commit.files()));
    }
    List<List<WrittenRow>> rows =
        written.stream()
            .map(files -> files.values().stream().flatMap(List::stream).toList())
            .toList();
    return MergeLaw.history(rows, MemoryTable.REDUCTIONS).stream()
        .filter(row -> wanted == Wanted.HISTORY || row.isVisible())
        .map(row -> Answer.of(table, row, added.columns(), wanted != Wanted.ROWS))
        .toList();
  }

  void write() {
    Map<String, List<WrittenRow>> rows = files(rows(Set.of(0L, 1L)));
    make(new Append(null, stored(rows), WriteSummaries.of("update")));
    keep(rows, Set.of(), Set.of(), Set.of());
  }

  void overwrite() {
    boolean isWhole = random.nextBoolean();
    long partition = random.nextInt(PARTITIONS);
    Set<Long> replaces = isWhole ? Set.of(0L, 1L) : Set.of(partition);
    Expression filter = isWhole ? Expressions.alwaysTrue() : Expressions.equal("l", partition);
    Map<String, List<WrittenRow>> rows = files(random.nextInt(4) == 0 ? List.of() : rows(replaces));
    make(new Overwrite(null, filter, stored(rows), WriteSummaries.of("overwrite")));
    keep(rows, replaces, Set.of(), Set.of());
  }

  /** Takes out a file that was never merged. */
  void drop() {
    Set<String> there = new HashSet<>();
    table.table.newScan().planFiles().forEach(task -> there.add(task.file().location()));
    List<String> candidates = there.stream().filter(name -> name.startsWith("w")).toList();
    if (!candidates.isEmpty()) {
      Set<String> chosen = Set.of(candidates.get(random.nextInt(candidates.size())));
      assertTrue(FileChange.drop(changed, null, chosen).commit());
      keep(Map.of(), Set.of(), chosen, Set.of());
    }
  }

  void compact() throws IOException {
    CompactionPlan plan =
        new CompactionPlanner(changed, null, CompactionPolicy.FULL, Instant.now()).plan();
    for (Compaction compaction : plan.compactions()) {
      List<DataFile> merged =
          merged(compaction.plannedAt(), compaction.stretches(), "compact").stream().toList();
      make(new CompactionChange(null, compaction, merged));
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
    Undo undo = Undo.of(changed, null, range);
    List<DataFile> merged = new ArrayList<>();
    for (Undo.Bucket bucket : undo.buckets()) {
      if (!bucket.merged().sections().isEmpty()) {
        merged.addAll(merged(table.head(), List.of(bucket.merged()), "undo"));
      }
    }
    make(new UndoChange(null, undo, merged));
    keep(Map.of(), Set.of(), Set.of(), new HashSet<>(range.ids()));
    saw(undo.isMetadataOnly() ? "undo in metadata" : "undo with a merge");
    range.commits().stream().filter(WriteSummary::isUndo).forEach(each -> saw("undo of an undo"));
  }

  void keep(
      Map<String, List<WrittenRow>> rows,
      Set<Long> replaces,
      Set<String> dropped,
      Set<Long> undone) {
    table.table.refresh();
    made.add(new Made(table.head(), rows, replaces, dropped, undone));
  }

  /**
   * Rows that were published: the newest commit says so and has no rows, the one before has them.
   */
  void keepPublished(Map<String, List<WrittenRow>> rows) {
    table.table.refresh();
    long commit = Objects.requireNonNull(table.table.currentSnapshot().parentId());
    made.add(new Made(commit, rows, Set.of(), Set.of(), Set.of()));
  }

  List<WrittenRow> rows(Set<Long> partitions) {
    List<Long> of = List.copyOf(partitions);
    List<WrittenRow> rows = new ArrayList<>();
    for (int i = 1 + random.nextInt(6); i > 0; i--) {
      Key key = new Key(random.nextInt(KEYS), of.get(random.nextInt(of.size())));
      long version = random.nextInt(4);
      boolean isTombstone = random.nextInt(5) == 0;
      Map<String, Cell> cells = new HashMap<>();
      for (String leaf : isTombstone ? List.<String>of() : added.leaves()) {
        if (random.nextBoolean()) {
          cells.put(leaf, new Cell(version, List.of((long) random.nextInt(100))));
        }
      }
      rows.add(new WrittenRow(key, version, isTombstone, cells));
    }
    return rows;
  }

  Map<String, List<WrittenRow>> files(List<WrittenRow> rows) {
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

  List<DataFile> stored(Map<String, List<WrittenRow>> files) {
    List<DataFile> stored = new ArrayList<>();
    files.forEach(
        (name, rows) ->
            stored.add(file(name, MergeLaw.history(List.of(rows), MemoryTable.REDUCTIONS))));
    return stored;
  }

  private List<DataFile> merged(long at, List<BucketPlan> stretches, String name)
      throws IOException {
    List<DataFile> merged = new ArrayList<>();
    for (BucketPlan stretch : stretches) {
      List<StoredRow> rows =
          new PlannedRead(table, readSpec(at, null, Wanted.HISTORY), List.of(stretch))
              .answers().stream().map(this::row).toList();
      if (!rows.isEmpty()) {
        merged.add(file(name + files++, rows));
      }
    }
    return merged;
  }

  /** The store has a file, too, which nobody may delete as long as the table names it. */
  private DataFile file(String name, List<StoredRow> stored) {
    ((InMemoryFileIO) table.table.io()).addFile(name, new byte[] {1});
    return table.file(name, stored);
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

  private ReadSpec readSpec(Long at, Long after, Wanted wanted) {
    Set<Integer> ids =
        added.columns().stream()
            .map(name -> table.schema.table().findField(name).fieldId())
            .collect(Collectors.toSet());
    return ReadSpec.ofColumns(at, ids, wanted).in(new ReadScope(at, after, List.of(), true));
  }

  void check() throws IOException {
    added.check();
    ReadSpec all = readSpec(table.head(), null, Wanted.HISTORY);
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
            readSpec(at, null, Wanted.ROWS),
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
    ReadSpec readSpec = readSpec(range.last().snapshotId(), begin, Wanted.HISTORY);
    try {
      assertEquals(
          expected(made.subList(after, until), Wanted.HISTORY),
          new PlannedRead(table, readSpec).answers(),
          "appended");
    } catch (KeylakeException e) {
      assertTrue(e.getMessage().contains("took out file"), e.getMessage());
    }
  }

  void saw(String what) {
    seen.merge(what, 1, Integer::sum);
  }
}
