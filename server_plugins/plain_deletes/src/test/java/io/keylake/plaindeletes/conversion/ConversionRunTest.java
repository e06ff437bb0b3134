package io.keylake.plaindeletes.conversion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.plaindeletes.index.DeletesTable;
import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Equality deletes that become positions beside other writers. */
class ConversionRunTest extends ConversionCase {
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

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void aDataFileWithoutRowsIsRemoved(int format) throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), format);
    append(made, row(1, 0), row(2, 0), row(3, 0));
    append(made, row(1, 0), row(4, 0));
    for (FileScanTask file : tasks(made.table)) {
      deletePosition(made.table, file, 1);
    }
    for (long id = 1; id < 4; id++) {
      delete(made, row(id, 0), 1);
    }
    List<String> before = rows(made.table);
    ConversionRun.Outcome outcome = convert(made.table);
    assertEquals(before, rows(made.table));
    assertEquals(List.of(), tasks(made.table).stream().filter(each -> isEmptied(each)).toList());
    assertEquals(0, equalityDeletes(made.table));
    assertEquals(outcome.dataFilesRemoved(), 2 - tasks(made.table).size());
    assertTrue(outcome.dataFilesRemoved() > 0);
    if (format == 3) { // files of positions in Avro do not tell whose they are
      String left = made.table.currentSnapshot().summary().get("total-position-deletes");
      assertEquals("0", left);
    }
  }

  private static boolean isEmptied(FileScanTask task) {
    return task.deletes().stream().mapToLong(DeleteFile::recordCount).sum()
        >= task.file().recordCount();
  }

  /** So that rows that were there for the other engine are not lost with the file. */
  @Test
  void aDataFileWithoutRowsThatIsRewrittenMeanwhileIsPlannedAgain() throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), 3);
    append(made, row(9, 0)); // or Iceberg drops the delete with the last row before it
    append(made, row(1, 0), row(2, 0));
    delete(made, row(1, 0), 1);
    delete(made, row(2, 0), 1);
    Step other =
        () -> compact(made.table, fileOf(made.table, 2), made.data(List.of(row(1, 0), row(2, 0))));
    ConversionRun.Outcome outcome =
        run(made.table, Expressions.alwaysTrue(), 32, once(other)).run();
    assertEquals(List.of(1L, 1L), List.of(outcome.lost(), outcome.dataFilesRemoved()));
    assertEquals(List.of(shown(row(9, 0))), rows(made.table));
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
