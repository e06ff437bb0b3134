package io.keylake.tables.simulator;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeLaw;
import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.tables.compaction.SettledBuckets.SettledBucket;
import io.keylake.tables.compaction.Settlement;
import io.keylake.tables.history.Settled;
import io.keylake.tables.lateness.FileMark;
import io.keylake.tables.lateness.Lateness;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.planning.PlannedRead;
import io.keylake.tables.planning.PlannedRead.Answer;
import io.keylake.tables.planning.SupersededInMemory;
import io.keylake.tables.planning.request.ReadScope;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/** A table as one actor has it open, and what a writer does beside its commits. */
final class Client {
  private static final int KEYS = 6;
  private static final long SECOND = 1_000_000; // versions are microseconds
  private static final List<String> COLUMNS = List.of("t", "a", "b", "c", "d", "e");

  final Table table;
  private final MemoryTable memory;
  final Random random;

  /**
   * @param memory the rows of all files
   */
  Client(Table table, MemoryTable memory, Random random) {
    this.table = table;
    this.memory = memory.reachedAs(table);
    this.random = random;
  }

  /** The columns and buckets as the client knows them. */
  private MemoryTable view() {
    memory.schema = KeyedSchema.of(table);
    return memory;
  }

  List<WrittenRow> rows() {
    List<WrittenRow> rows = new ArrayList<>();
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      Key key = new Key(random.nextInt(KEYS), 0);
      long version = random.nextInt(5) * SECOND;
      boolean isTombstone = random.nextInt(5) == 0;
      Map<String, Cell> cells = new HashMap<>();
      for (String leaf : isTombstone ? List.<String>of() : List.of("a", "b", "d", "g")) {
        if (random.nextBoolean()) {
          long value = random.nextInt(100);
          cells.put(
              leaf, new Cell(version, leaf.equals("g") ? List.of(value, value) : List.of(value)));
        }
      }
      if (!isTombstone) {
        cells.put("t", new Cell(version, List.of(version)));
      }
      rows.add(new WrittenRow(key, version, isTombstone, cells));
    }
    return rows;
  }

  /** Writes the files of rows that are added to a branch, with a file for late ones. */
  List<DataFile> added(@Nullable String branch, List<WrittenRow> rows) {
    SnapshotRef ref = table.refs().get(branch);
    Long limit = Lateness.limit(table, view().schema, ref == null ? null : ref.snapshotId());
    if (limit == null) {
      return written(rows);
    }
    Map<Boolean, List<WrittenRow>> byLateness =
        rows.stream().collect(Collectors.partitioningBy(row -> row.version() < limit));
    List<DataFile> files = written(FileMark.late(limit).text(), byLateness.get(true));
    files.addAll(written(FileMark.timely(limit).text(), byLateness.get(false)));
    return files;
  }

  /** Writes the files of some rows. */
  List<DataFile> written(List<WrittenRow> rows) {
    return written("", rows);
  }

  private List<DataFile> written(String operation, List<WrittenRow> rows) {
    Map<Integer, List<WrittenRow>> byBucket = new LinkedHashMap<>();
    MemoryTable view = view();
    for (WrittenRow row : rows) {
      byBucket.computeIfAbsent(view.bucket(row.key()), bucket -> new ArrayList<>()).add(row);
    }
    List<DataFile> files = new ArrayList<>();
    for (List<WrittenRow> of : byBucket.values()) {
      files.add(file(operation, MergeLaw.history(List.of(of), MemoryTable.REDUCTIONS)));
    }
    return files;
  }

  private DataFile file(String operation, List<StoredRow> stored) {
    return view().file(placed("00001", operation), stored);
  }

  /** The name of a new file, which is there. */
  private String placed(String number, String operation) {
    String name =
        "%s/data/00000-1-%s%s-%s.parquet"
            .formatted(table.location(), operation, UUID.randomUUID(), number);
    try (OutputStream out = table.io().newOutputFile(name).create()) {
      out.write(1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return name;
  }

  /**
   * Merges what a plan says, into one file for each bucket of a part.
   *
   * @param of how many buckets there are where those of the plan are some
   */
  List<DataFile> merged(
      Long at, List<BucketPlan> stretches, int of, String operation, boolean dropsTombstones) {
    List<DataFile> files = new ArrayList<>();
    for (BucketPlan stretch : stretches) {
      List<StoredRow> rows =
          answers(
                  new PlannedRead(
                      view(),
                      readSpec(at, dropsTombstones ? Wanted.ROWS_AND_STAMPS : Wanted.HISTORY),
                      List.of(stretch),
                      of))
              .stream()
              .map(this::row)
              .toList();
      if (!rows.isEmpty()) {
        Map<Integer, List<StoredRow>> byBucket =
            rows.stream().collect(Collectors.groupingBy(row -> view().bucket(row.key())));
        byBucket.values().forEach(each -> files.add(file(operation, each)));
      }
    }
    return files;
  }

  /** Finds the superseded rows of a bucket, and writes a file for those of each data file. */
  SettledBucket settled(Settlement settlement) {
    MemoryTable view = view();
    SupersededInMemory found = new SupersededInMemory(view, settlement.plan().sections());
    Map<String, DeleteFile> deletions = new HashMap<>();
    for (FileScanTask input : settlement.inputs()) {
      Set<Integer> rows = found.byFile().getOrDefault(input.file().location(), Set.of());
      long known = input.deletes().stream().mapToLong(DeleteFile::recordCount).sum();
      if (rows.size() != known) {
        String name = placed("00001-deletes", Settled.operation(""));
        deletions.put(input.file().location(), view.deletions(name, input.file(), rows));
      }
    }
    return new SettledBucket(settlement, deletions, found.isUnique());
  }

  List<Answer> read(Long at, Wanted wanted) {
    return answers(new PlannedRead(view(), readSpec(at, wanted)));
  }

  /** Rows in any order, so that files of which superseded rows are known need no merge. */
  List<Answer> readUnordered(Long at) {
    return answers(new PlannedRead(view(), readSpec(at, Wanted.ROWS).unordered()));
  }

  /** The rows that the commits after one have written, merged among themselves. */
  List<Answer> readRange(long after, long until) {
    ReadScope range = ReadScope.ofRange(after, until);
    return answers(new PlannedRead(view(), readSpec(until, Wanted.HISTORY).in(range)));
  }

  private static List<Answer> answers(PlannedRead read) {
    try {
      return read.answers();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private ReadSpec readSpec(Long at, Wanted wanted) {
    Set<Integer> ids =
        COLUMNS.stream()
            .map(name -> view().schema.table().findField(name).fieldId())
            .collect(Collectors.toSet());
    return ReadSpec.ofColumns(at, ids, wanted);
  }

  /** What a read has to give for some writes. */
  List<Answer> expected(List<Write> writes, Wanted wanted) {
    MemoryTable view = view();
    return Model.rows(writes).stream()
        .filter(row -> wanted == Wanted.HISTORY || row.isVisible())
        .map(row -> Answer.of(view, row, COLUMNS, wanted != Wanted.ROWS))
        .toList();
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
                for (NestedField column : view().schema.valuesByLeaf().get(leaf)) {
                  values.add(answer.values().get(column.name()));
                }
                cells.put(leaf, new Cell(at, values));
              }
            });
    return new StoredRow(
        answer.key(), answer.stamps().get("written"), answer.stamps().get("deleted"), cells);
  }

  /** Some snapshot that the client knows; null where it knows none. */
  @Nullable Snapshot anySnapshot() {
    List<Snapshot> all = new ArrayList<>();
    table.snapshots().forEach(all::add);
    all.sort(Comparator.comparingLong(Snapshot::sequenceNumber));
    return all.isEmpty() ? null : any(all);
  }

  /** The names of branches, in order. */
  List<String> branches(String prefix) {
    return table.refs().keySet().stream()
        .filter(name -> name.startsWith(prefix) && !name.startsWith("merged"))
        .sorted()
        .toList();
  }

  /** Mostly main. */
  String anyBranch() {
    List<String> all = branches("tmp_");
    return all.isEmpty() || random.nextInt(3) > 0 ? "main" : any(all);
  }

  <T> T any(List<T> all) {
    return all.get(random.nextInt(all.size()));
  }
}
