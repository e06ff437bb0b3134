package io.keylake.spark.read.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.RandomRuns;
import io.keylake.merge.StoredRow;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.merge.ParquetTable.KeyForm;
import io.keylake.spark.read.selection.Selection;
import io.keylake.spark.read.selection.SelectionCache;
import io.keylake.spark.read.task.MergeInfoType;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.OutputColumn.Source;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.KeySlice;
import io.keylake.tables.planning.SectionPlan;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sections of files, merged by what their plan says, compared with the law over all rows. */
class MergeReaderTest {
  private static final OutputColumn IS_DELETED =
      new OutputColumn(Source.IS_DELETED, -1, DataTypes.BooleanType, false);

  @TempDir private Path folder;

  /** The number of sections that were read in each way. */
  private final Map<String, Integer> seen = new TreeMap<>();

  private ParquetTable table(String versions, KeyForm form) throws IOException {
    return new ParquetTable(Files.createTempDirectory(folder, "table"), versions, form);
  }

  private List<ShownRow> rows(ParquetTable table, ReadTask task, BucketPlan plan)
      throws IOException {
    List<ShownRow> rows = new ArrayList<>();
    DataFiles files = table.files();
    for (SectionPlan section : plan.sections()) {
      boolean isMerged = !section.passedThrough();
      seen.merge(isMerged ? section.merging().order().name() : "pass", 1, Integer::sum);
      rows.addAll(
          ShownRow.all(
              isMerged
                  ? new MergeReader(task, section, plan.partition(), files, Sieve.Needed.ALL, false)
                  : new PassThroughReader(task, section, plan.partition(), files, false)));
    }
    return rows;
  }

  @Test
  void aMergeGivesWhatTheLawSays() {
    RandomRuns.of(
        24,
        random -> {
          ParquetTable table =
              table(
                  random.nextBoolean() ? "explicit" : "ordering",
                  KeyForm.values()[random.nextInt(3)]);
          List<StoredRow> history =
              new RandomCommits(random, table, 60)
                  .make(1 + random.nextInt(5), 40, random.nextBoolean());
          checkRows(random, table, history);
          checkStamps(random, table, history);
          checkTombstones(random, table, history);
        });
    assertEquals(Set.of("pass", "RUN", "VERSION"), seen.keySet());
  }

  private static Set<String> someValues(Random random) {
    Set<String> some = new HashSet<>(ParquetTable.VALUES);
    some.removeIf(name -> random.nextInt(3) == 0);
    return some;
  }

  private void checkRows(Random random, ParquetTable table, List<StoredRow> history)
      throws IOException {
    Set<String> columns = someValues(random);
    BucketPlan plan = table.plan(table.spec(columns, Wanted.ROWS));
    List<ShownRow> expected =
        history.stream()
            .filter(StoredRow::isVisible)
            .map(row -> ShownRow.of(table, row, columns, false))
            .toList();
    assertEquals(expected, rows(table, table.task(columns), plan));
    long bound = 4 * random.nextInt(15); // texts are cut by their first 8 bytes
    boolean isText = table.schema.key().get(0).type().typeId().name().equals("STRING");
    Serializable boundary = isText ? ParquetTable.text(bound) : Long.valueOf(bound);
    assertEquals(
        expected.stream().filter(row -> row.key().first() < bound).toList(),
        rows(table, table.task(columns), plan.cutTo(new KeySlice(null, boundary))));
    assertEquals(
        expected.stream().filter(row -> row.key().first() >= bound).toList(),
        rows(table, table.task(columns), plan.cutTo(new KeySlice(boundary, null))));
  }

  private void checkStamps(Random random, ParquetTable table, List<StoredRow> history)
      throws IOException {
    Set<String> columns = someValues(random);
    OutputColumn stamps =
        new OutputColumn(Source.MERGE_INFO, -1, MergeInfoType.of(table.schema), false);
    assertEquals(
        history.stream()
            .filter(StoredRow::isVisible)
            .map(row -> ShownRow.of(table, row, columns, true))
            .toList(),
        rows(
            table,
            table.task(columns, stamps),
            table.plan(table.spec(columns, Wanted.ROWS_AND_STAMPS))));
  }

  private void checkTombstones(Random random, ParquetTable table, List<StoredRow> history)
      throws IOException {
    Set<String> columns = someValues(random);
    BucketPlan plan = table.plan(table.spec(columns, Wanted.ROWS_AND_TOMBSTONES));
    assertEquals(
        history.stream()
            .map(
                row ->
                    new ShownRow(
                        row.key(),
                        row.isVisible()
                            ? ShownRow.of(table, row, columns, false).values()
                            : Map.of(),
                        Map.of("_deleted", row.isVisible() ? 0L : 1L)))
            .toList(),
        rows(table, table.task(columns, IS_DELETED), plan));
  }

  @Test
  void aMergeNotesWhichRowsWin() {
    RandomRuns.of(
        64, // a selection is found where every commit has the column in each row
        random -> {
          ParquetTable table = table("explicit", KeyForm.NUMBER);
          new RandomCommits(random, table, 60).make(2 + random.nextInt(3), 40, false);
          Set<String> columns = Set.of("a");
          BucketPlan plan = table.plan(table.spec(columns, Wanted.ROWS).unordered());
          ReadTask task = table.task(columns);
          for (SectionPlan section : plan.sections()) {
            if (!section.passedThrough() && section.merging().mayBeStoredRows()) {
              DataFiles files = table.files();
              List<ShownRow> merged =
                  ShownRow.all(
                      new MergeReader(
                          task, section, plan.partition(), files, Sieve.Needed.ALL, true));
              checkSelected(task, plan, section, files, merged);
            }
          }
        });
    assertTrue(seen.containsKey("selected"), seen.toString());
  }

  private void checkSelected(
      ReadTask task, BucketPlan plan, SectionPlan section, DataFiles files, List<ShownRow> merged)
      throws IOException {
    Selection selection = SelectionCache.ofProcess().of(section);
    if (selection != null) {
      seen.merge("selected", 1, Integer::sum);
      List<ShownRow> selected =
          ShownRow.all(
              new PassThroughReader(
                  task,
                  section.withoutMerge(),
                  plan.partition(),
                  files.with(selection.byFile()),
                  false));
      assertEquals(merged, selected.stream().sorted(Comparator.comparing(ShownRow::key)).toList());
    }
  }
}
