package io.keylake.plaindeletes.conversion;

import io.keylake.plaindeletes.index.DeletesTable;
import io.keylake.tables.storage.MemoryBudget;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
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
import org.junit.jupiter.api.io.TempDir;

/**
 * Tables with equality deletes for tests of their conversion, and what others do to them meanwhile.
 */
abstract class ConversionCase {
  static final Schema SCHEMA =
      new Schema(
          NestedField.optional(1, "id", Types.LongType.get()),
          NestedField.optional(2, "name", Types.StringType.get()),
          NestedField.optional(3, "part", Types.IntegerType.get()));
  static final PartitionSpec BY_PART = PartitionSpec.builderFor(SCHEMA).identity("part").build();
  @TempDir Path directory;

  private int number;

  static Record row(Object id, Object name, Object part) {
    GenericRecord row = GenericRecord.create(SCHEMA);
    row.setField("id", id);
    row.setField("name", name);
    row.setField("part", part);
    return row;
  }

  static Record row(long id, int part) {
    return row(id, "n" + id, part);
  }

  static List<String> rows(Table table) throws IOException {
    try (CloseableIterable<Record> rows = IcebergGenerics.read(table).build()) {
      List<String> all = new ArrayList<>();
      rows.forEach(row -> all.add(shown(row)));
      all.sort(null);
      return all;
    }
  }

  /** Without what a reader needs itself. */
  static String shown(Record row) {
    return List.of("id", "name", "part").stream()
        .map(row::getField)
        .map(String::valueOf)
        .collect(Collectors.joining(" "));
  }

  static List<FileScanTask> tasks(Table table) throws IOException {
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      List<FileScanTask> all = new ArrayList<>();
      tasks.forEach(all::add);
      return all;
    }
  }

  /** The oldest data file with so many rows. */
  static DataFile fileOf(Table table, long rows) throws IOException {
    return tasks(table).stream()
        .map(FileScanTask::file)
        .filter(file -> file.recordCount() == rows)
        .min(Comparator.comparing(DataFile::dataSequenceNumber))
        .orElseThrow();
  }

  static long equalityDeletes(Table table) {
    String total = table.currentSnapshot().summary().getOrDefault("total-equality-deletes", "0");
    return Long.parseLong(total);
  }

  /** Where conversions of a test run. */
  record Here(Table table, Path directory) implements Conversion.Place {
    @Override
    public OutputFileFactory names(FileFormat format) {
      return OutputFileFactory.builderFor(table, 0, 0).format(format).build();
    }

    @Override
    public MemoryBudget memory() {
      return DeletesTable.UNLIMITED;
    }

    @Override
    public boolean isCancelled() {
      return false;
    }
  }

  interface Step {
    void run() throws IOException;
  }

  List<Converted> converted(Table table, List<Conversion> conversions) {
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
  ConversionRun run(Table table, Expression where, int portionsPerCommit, Step meanwhile) {
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
  static Step once(Step step) {
    boolean[] isDone = {false};
    return () -> {
      if (!isDone[0]) {
        isDone[0] = true;
        step.run();
      }
    };
  }

  ConversionRun.Outcome convert(Table table) {
    return run(table, Expressions.alwaysTrue(), 32, () -> {}).run();
  }

  static void append(DeletesTable made, Record... rows) throws IOException {
    made.table.newAppend().appendFile(made.data(List.of(rows))).commit();
  }

  static void delete(DeletesTable made, Record row, Integer... fields) throws IOException {
    DeleteFile deletes = made.deletes(made.table.spec(), List.of(row), fields);
    made.table.newRowDelta().addDeletes(deletes).commit();
  }

  /** Deletes a row of a data file by its position, with what was known before, as engines do. */
  void deletePosition(Table table, FileScanTask task, long position) throws IOException {
    PositionFiles files = new PositionFiles(table, new Here(table, directory)::names);
    PositionFiles.OfFile positions = files.of(task);
    if (!positions.has(position)) {
      positions.add(position);
    }
    positions.keep();
    Converted written = files.written();
    RowDelta delta = table.newRowDelta().validateFromSnapshot(table.currentSnapshot().snapshotId());
    written.added().forEach(delta::addDeletes);
    written.replaced().forEach(delta::removeDeletes);
    delta.commit();
  }

  void deleteOneMore(Table table, FileScanTask task) {
    try {
      deletePosition(table, task, 1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A compaction that keeps the number of the rows that it has read. */
  static void compact(Table table, DataFile old, DataFile rewritten) {
    RewriteFiles rewrite = table.newRewrite().deleteFile(old).addFile(rewritten);
    rewrite.dataSequenceNumber(old.dataSequenceNumber()).commit();
  }
}
