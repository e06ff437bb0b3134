package io.keylake.tables.conversion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.deletes.DeletesTable;
import io.keylake.tables.deletes.MemoryBudget;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Equality deletes that become positions, and what Iceberg's generic reader gives before and after.
 */
class ConversionRunTest {
  private static final Schema SCHEMA =
      new Schema(
          NestedField.optional(1, "id", Types.LongType.get()),
          NestedField.optional(2, "name", Types.StringType.get()),
          NestedField.optional(3, "part", Types.IntegerType.get()));
  private static final PartitionSpec BY_PART =
      PartitionSpec.builderFor(SCHEMA).identity("part").build();
  private static final List<Integer[]> FIELDS =
      List.of(new Integer[] {1}, new Integer[] {2}, new Integer[] {1, 2});

  @TempDir Path directory;

  private int number;

  private static Record row(Object id, Object name, Object part) {
    GenericRecord row = GenericRecord.create(SCHEMA);
    row.setField("id", id);
    row.setField("name", name);
    row.setField("part", part);
    return row;
  }

  private static Record row(long id, int part) {
    return row(id, "n" + id, part);
  }

  private static List<String> rows(Table table) throws IOException {
    try (CloseableIterable<Record> rows = IcebergGenerics.read(table).build()) {
      List<String> all = new ArrayList<>();
      rows.forEach(row -> all.add(shown(row)));
      all.sort(null);
      return all;
    }
  }

  /** Without what a reader needs itself. */
  private static String shown(Record row) {
    return List.of("id", "name", "part").stream()
        .map(row::getField)
        .map(String::valueOf)
        .collect(Collectors.joining(" "));
  }

  private static List<FileScanTask> tasks(Table table) throws IOException {
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      List<FileScanTask> all = new ArrayList<>();
      tasks.forEach(all::add);
      return all;
    }
  }

  /** The oldest data file with so many rows. */
  private static DataFile fileOf(Table table, long rows) throws IOException {
    return tasks(table).stream()
        .map(FileScanTask::file)
        .filter(file -> file.recordCount() == rows)
        .min(Comparator.comparing(DataFile::dataSequenceNumber))
        .orElseThrow();
  }

  private static long equalityDeletes(Table table) {
    String total = table.currentSnapshot().summary().getOrDefault("total-equality-deletes", "0");
    return Long.parseLong(total);
  }

  /** Where conversions of a test run. */
  private record Here(Table table, Path directory) implements Conversion.Place {
    @Override
    public OutputFileFactory names(FileFormat format) {
      return OutputFileFactory.builderFor(table, 0, 0).format(format).build();
    }

    @Override
    public MemoryBudget memory() {
      return new MemoryBudget() {
        @Override
        public boolean take(long bytes) {
          return true;
        }

        @Override
        public void give(long bytes) {}
      };
    }

    @Override
    public boolean isCancelled() {
      return false;
    }
  }

  private interface Step {
    void run() throws IOException;
  }

  private List<Converted> converted(Table table, List<Conversion> conversions) {
    try {
      List<Converted> all = new ArrayList<>();
      for (Conversion each : conversions) {
        Path own = Files.createDirectory(directory.resolve("run-" + number++));
        all.add(each.run(table, new Here(table, own)));
      }
      return all;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A run between whose jobs and commits somebody else does something. */
  private ConversionRun run(Table table, Expression where, int portionsPerCommit, Step meanwhile) {
    return new ConversionRun(
        table,
        where,
        portionsPerCommit,
        conversions -> {
          List<Converted> converted = converted(table, conversions);
          try {
            meanwhile.run();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
          return converted;
        });
  }

  /** Something that is done once. */
  private static Step once(Step step) {
    boolean[] isDone = {false};
    return () -> {
      if (!isDone[0]) {
        isDone[0] = true;
        step.run();
      }
    };
  }

  private ConversionRun.Outcome convert(Table table) {
    return run(table, Expressions.alwaysTrue(), 32, () -> {}).run();
  }

  private static void append(DeletesTable made, Record... rows) throws IOException {
    made.table.newAppend().appendFile(made.data(List.of(rows))).commit();
  }

  private static void delete(DeletesTable made, Record row, Integer... fields) throws IOException {
    DeleteFile deletes = made.deletes(made.table.spec(), List.of(row), fields);
    made.table.newRowDelta().addDeletes(deletes).commit();
  }

  /** Deletes a row of a data file by its position, with what was known before, as engines do. */
  private void deletePosition(Table table, FileScanTask task, long position) throws IOException {
    PositionFiles files = new PositionFiles(table, new Here(table, directory)::names);
    PositionFiles.OfFile positions = files.of(task);
    if (!positions.has(position)) {
      positions.add(position);
    }
    Converted written = files.written();
    RowDelta delta = table.newRowDelta().validateFromSnapshot(table.currentSnapshot().snapshotId());
    written.added().forEach(delta::addDeletes);
    written.replaced().forEach(delta::removeDeletes);
    delta.commit();
  }

  private void deleteOneMore(Table table, FileScanTask task) {
    try {
      deletePosition(table, task, 1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A compaction that keeps the number of the rows that it has read. */
  private static void compact(Table table, DataFile old, DataFile rewritten) {
    RewriteFiles rewrite = table.newRewrite().deleteFile(old).addFile(rewritten);
    rewrite.dataSequenceNumber(old.dataSequenceNumber()).commit();
  }

  private static Record some(Random random) {
    int small = random.nextInt(6);
    return row(
        random.nextInt(8) == 0 ? null : Long.valueOf(small),
        random.nextInt(8) == 0 ? null : "n" + random.nextInt(4),
        random.nextInt(5) == 0 ? null : small % 2);
  }

  private void change(Random random, DeletesTable made) throws IOException {
    Table table = made.table;
    List<FileScanTask> tasks = tasks(table);
    switch (random.nextInt(10)) {
      case 0 -> {
        if (table.spec().isUnpartitioned()) {
          table.updateSpec().addField("part").commit();
        } else {
          table.updateSpec().removeField("part").commit();
        }
      }
      case 1, 2 -> {
        FileScanTask task = tasks.get(random.nextInt(tasks.size()));
        deletePosition(table, task, random.nextInt((int) task.file().recordCount()));
      }
      case 3, 4, 5 -> {
        Record first = some(random);
        Record second = some(random);
        second.setField("part", first.getField("part"));
        append(made, first, second, first);
      }
      default -> delete(made, some(random), FIELDS.get(random.nextInt(FIELDS.size())));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void rowsAreTheSameAfterAnyHistory(long seed) throws IOException {
    Random random = new Random(seed);
    PartitionSpec spec = random.nextBoolean() ? PartitionSpec.unpartitioned() : BY_PART;
    DeletesTable made = new DeletesTable(SCHEMA, spec, 2 + (int) (seed % 2));
    append(made, row(1, 1), row(2, 1));
    for (int round = 0; round < 4; round++) {
      for (int i = 0; i < 6; i++) {
        change(random, made);
      }
      List<String> before = rows(made.table);
      if (random.nextBoolean()) {
        Expression where = Expressions.equal("part", random.nextInt(2));
        run(made.table, where, 1, () -> {}).run();
        assertEquals(before, rows(made.table));
      }
      ConversionRun whole =
          run(made.table, Expressions.alwaysTrue(), 1 + random.nextInt(3), () -> {});
      ConversionRun.Outcome planned = whole.plan();
      ConversionRun.Outcome done = whole.run();
      assertEquals(planned.removed(), done.removed());
      assertEquals(before, rows(made.table));
      assertEquals(0, equalityDeletes(made.table));
      assertEquals(0, convert(made.table).commits());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void aDeleteOfAllPartitionsStaysUntilTheLastOfThemIsConverted(int format) throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, BY_PART, format);
    append(made, row(1, 0), row(2, 0));
    append(made, row(1, 1));
    made.table.updateSpec().removeField("part").commit();
    delete(made, row(1, 0), 1);
    List<String> before = rows(made.table);

    ConversionRun.Outcome first = run(made.table, Expressions.equal("part", 0), 32, () -> {}).run();
    assertEquals(1, first.rows());
    assertEquals(0, first.removed().files());
    assertEquals(before, rows(made.table));
    assertEquals(1, equalityDeletes(made.table));

    ConversionRun.Outcome second = convert(made.table);
    assertEquals(1, second.rows(), "the other has been a position already");
    assertEquals(1, second.removed().files());
    assertEquals(before, rows(made.table));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void aDataFileThatIsRewrittenMeanwhileIsPlannedAgain(int format) throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), format);
    append(made, row(1, 0), row(2, 0), row(3, 0));
    DataFile old = tasks(made.table).get(0).file();
    delete(made, row(1, 0), 1);
    Step compaction =
        () -> {
          // It has read the table before the delete.
          DataFile rewritten = made.data(List.of(row(3, 0), row(2, 0), row(1, 0)));
          compact(made.table, old, rewritten);
        };
    ConversionRun.Outcome outcome =
        run(made.table, Expressions.alwaysTrue(), 32, once(compaction)).run();
    assertEquals(List.of(1L, 1L), List.of(outcome.lost(), outcome.rows()));
    assertEquals(List.of(shown(row(2, 0)), shown(row(3, 0))), rows(made.table));
    assertEquals(0, equalityDeletes(made.table));
  }

  @Test
  void aDeleteStaysForRowsThatComeWithAnOldNumber() throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), 2);
    append(made, row(7, 0));
    append(made, row(1, 0));
    delete(made, row(1, 0), 1);
    delete(made, row(2, 0), 1); // touches nothing so far
    Step other = () -> compact(made.table, fileOf(made.table, 1), made.data(List.of(row(2, 0))));
    ConversionRun.Outcome outcome =
        run(made.table, Expressions.alwaysTrue(), 32, once(other)).run();
    assertEquals(List.of(1L, 2L), List.of(outcome.lost(), outcome.rows()));
    assertEquals(List.of(), rows(made.table));
  }

  /** By a column that was dropped, so that no index has it. */
  @Test
  void aDeleteThatIsKeptStaysAfterALostCommit() throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, BY_PART, 3);
    for (int part = 0; part < 2; part++) {
      append(made, row(1, part), row(2, part));
      delete(made, row(1, part), 1);
      delete(made, row(2, part), 2);
    }
    made.table.updateSchema().deleteColumn("name").commit();
    int[] jobs = {0};
    ConversionRun run =
        new ConversionRun(
            made.table,
            Expressions.alwaysTrue(),
            1,
            conversions -> {
              List<Converted> converted = converted(made.table, conversions);
              if (++jobs[0] == 2) {
                deleteOneMore(made.table, conversions.get(0).files().get(0));
              }
              return converted;
            });
    assertEquals(1, run.run().lost());
    assertEquals(2, equalityDeletes(made.table));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void aPositionThatIsDeletedMeanwhileStaysDeleted(int format) throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), format);
    append(made, row(1, 0), row(2, 0), row(3, 0));
    delete(made, row(1, 0), 1);
    Step other = () -> deletePosition(made.table, tasks(made.table).get(0), 1);
    ConversionRun.Outcome outcome =
        run(made.table, Expressions.alwaysTrue(), 32, once(other)).run();
    assertEquals(format == 3 ? 1 : 0, outcome.lost(), "a data file has one deletion vector");
    assertEquals(List.of(shown(row(3, 0))), rows(made.table));
    assertEquals(0, equalityDeletes(made.table));
  }

  @Test
  void deletesThatComeMeanwhileApplyAndAreLeftToTheNextRun() throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), 3);
    append(made, row(1, 0), row(2, 0), row(3, 0));
    delete(made, row(1, 0), 1);
    Step writer =
        () -> {
          append(made, row(1, 0));
          delete(made, row(2, 0), 1);
        };
    ConversionRun.Outcome outcome = run(made.table, Expressions.alwaysTrue(), 32, writer).run();
    assertEquals(List.of(0L, 1L), List.of(outcome.lost(), outcome.rows()));
    assertEquals(1, equalityDeletes(made.table));
    assertEquals(List.of(shown(row(1, 0)), shown(row(3, 0))), rows(made.table));
  }

  @Test
  void whatWasCommittedStaysWhereARunEndsInBetween() throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, BY_PART, 3);
    for (int part = 0; part < 3; part++) {
      append(made, row(1, part), row(2, part));
      delete(made, row(1, part), 1);
    }
    List<String> before = rows(made.table);
    Step end =
        () -> {
          if (equalityDeletes(made.table) == 1) {
            throw new IOException("the server has ended");
          }
        };
    ConversionRun ending = run(made.table, Expressions.alwaysTrue(), 1, end);
    assertThrows(UncheckedIOException.class, ending::run);
    assertEquals(1, equalityDeletes(made.table));
    assertEquals(before, rows(made.table));
    assertEquals(1, convert(made.table).rows());
    assertEquals(before, rows(made.table));
  }

  @Test
  void oneThatAlwaysLosesSaysSo() throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), 3);
    append(made, row(9, 0)); // or Iceberg drops the delete with the last row before it
    append(made, row(1, 0), row(2, 0));
    delete(made, row(1, 0), 1);
    Step compaction =
        () -> compact(made.table, fileOf(made.table, 2), made.data(List.of(row(1, 0), row(2, 0))));
    ConversionRun losing = run(made.table, Expressions.alwaysTrue(), 32, compaction);
    KeylakeException error = assertThrows(KeylakeException.class, losing::run);
    assertEquals(KeylakeException.Kind.COMMIT_CONFLICT, error.kind());
    assertTrue(
        error.getMessage().contains("lost against other commits 10 times"), error.getMessage());
    assertEquals(List.of(shown(row(2, 0)), shown(row(9, 0))), rows(made.table));
  }
}
