package io.keylake.spark.read.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.Cell;
import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.RandomRuns;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.merge.ParquetTable.KeyForm;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.KeySlice;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.roaringbitmap.RoaringBitmap;

/** Files whose rows are the answer as they stand, but for those that are left out. */
class PassThroughReaderTest {
  private static final List<Serializable> BUCKET = List.of(0);
  private static final OutputColumn IS_DELETED =
      new OutputColumn(OutputColumn.Source.IS_DELETED, -1, DataTypes.BooleanType, false);

  @TempDir private Path folder;

  private ParquetTable table(KeyForm form) throws IOException {
    return new ParquetTable(Files.createTempDirectory(folder, "table"), "explicit", form);
  }

  /** A table with files of these numbers of rows, one after the other in key order. */
  private ParquetTable tableOf(KeyForm form, int... sizes) throws IOException {
    ParquetTable table = table(form);
    List<List<StoredRow>> files = new ArrayList<>();
    long next = 0;
    for (int size : sizes) {
      List<StoredRow> rows = new ArrayList<>();
      for (long key : LongStream.range(next, next + size).toArray()) {
        Map<String, Cell> cells =
            Map.of("a", new Cell(1, List.of(-key)), "b", new Cell(1, List.of(key)));
        rows.add(new StoredRow(ParquetTable.key(key), 1L, null, cells));
      }
      files.add(rows);
      next += size;
    }
    table.commitFiles(files);
    return table;
  }

  private static SectionPlan section(ParquetTable table) {
    BucketPlan plan = table.plan(table.spec(List.of("a", "b"), Wanted.ROWS).unordered());
    List<StoredFile> files =
        plan.sections().stream().flatMap(each -> each.runs().get(0).stream()).toList();
    assertTrue(plan.sections().stream().allMatch(SectionPlan::passedThrough));
    return new SectionPlan(List.of(files), null, List.of(), List.of(), null);
  }

  private static List<Long> keys(List<ShownRow> rows) {
    return rows.stream().map(row -> row.key().first()).toList();
  }

  @Test
  void theRowsOfChosenPositionsAreShown() {
    RandomRuns.of(
        16,
        random -> {
          KeyForm form = random.nextBoolean() ? KeyForm.NUMBER : KeyForm.TEXT;
          // the bounds of a text are those of four texts, none of which are in another file
          int[] sizes = {4 * (1 + random.nextInt(10)), 32, 1 + random.nextInt(500)};
          ParquetTable table = tableOf(form, sizes);
          SectionPlan section = section(table);
          Map<String, RoaringBitmap> chosen = chosen(random, section);
          List<ShownRow> expected = new ArrayList<>();
          for (StoredFile file : section.runs().get(0)) {
            List<StoredRow> rows = table.rows(file.location());
            RoaringBitmap some = chosen.get(file.location());
            for (int position = 0; position < rows.size(); position++) {
              if (some == null || some.contains(position)) {
                expected.add(ShownRow.of(table, rows.get(position), List.of("a", "b"), false));
              }
            }
          }
          ReadTask task = table.task(List.of("a", "b"));
          DataFiles files = table.files().with(chosen);
          assertEquals(
              expected, ShownRow.all(new PassThroughReader(task, section, BUCKET, files, false)));
          assertEquals(expected.size(), countOf(table, section, files));
        });
  }

  /** For some files the positions of few, of most, or of no rows. */
  private static Map<String, RoaringBitmap> chosen(Random random, SectionPlan section) {
    Map<String, RoaringBitmap> chosen = new HashMap<>();
    for (StoredFile file : section.runs().get(0)) {
      int share = List.of(0, 5, 50, 95, -1).get(random.nextInt(5));
      RoaringBitmap some = new RoaringBitmap();
      for (int position = 0; position < file.rows(); position++) {
        if (random.nextInt(100) < share) {
          some.add(position);
        }
      }
      if (share >= 0) {
        chosen.put(file.location(), some);
      }
    }
    return chosen;
  }

  /** The number of rows where no stored column is wanted. */
  private static long countOf(ParquetTable table, SectionPlan section, DataFiles files)
      throws IOException {
    ReadTask task =
        new ReadTask(table.schema, List.of(IS_DELETED), table.task(List.of()).filters(), false, 7);
    long count = 0;
    try (PassThroughReader reader = new PassThroughReader(task, section, BUCKET, files, false)) {
      for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
        assertTrue(batch.numRows() <= 7);
        count += batch.numRows();
      }
    }
    return count;
  }

  @Test
  void rowsAreCountedByTheManifestAndNoFileIsOpened() throws IOException {
    ParquetTable table = tableOf(KeyForm.NUMBER, 20, 3);
    SectionPlan section = section(table);
    for (StoredFile file : section.runs().get(0)) {
      Files.delete(Path.of(file.location()));
    }
    assertEquals(23, countOf(table, section, table.files()));
  }

  @Test
  void aSliceHasTheRowsFromItsLowerBoundToBelowItsUpperOne() throws IOException {
    ParquetTable table = tableOf(KeyForm.NUMBER, 20, 30, 40);
    SectionPlan all = section(table);
    for (KeySlice slice :
        List.of(
            new KeySlice(null, 25L),
            new KeySlice(25L, 64L),
            new KeySlice(64L, null),
            new KeySlice(33L, 33L),
            new KeySlice(90L, null))) {
      SectionPlan section = new SectionPlan(all.runs(), null, List.of(), List.of(), slice);
      long from = slice.lower() == null ? 0 : (Long) slice.lower();
      long to = slice.upper() == null ? 90 : (Long) slice.upper();
      assertEquals(
          LongStream.range(from, slice.isOneValue() ? from + 1 : to).boxed().toList(),
          keys(
              ShownRow.all(
                  new PassThroughReader(
                      table.task(List.of("a")), section, BUCKET, table.files(), false))),
          slice.toString());
    }
  }

  @Test
  void aSliceOfChosenRowsHasThoseOfBoth() throws IOException {
    ParquetTable table = tableOf(KeyForm.NUMBER, 100);
    SectionPlan all = section(table);
    SectionPlan section =
        new SectionPlan(all.runs(), null, List.of(), List.of(), new KeySlice(10L, 60L));
    String location = all.runs().get(0).get(0).location();
    for (int step : List.of(1, 2, 9)) {
      RoaringBitmap chosen = new RoaringBitmap();
      LongStream.range(0, 100).filter(at -> at % step == 0).forEach(at -> chosen.add((int) at));
      assertEquals(
          LongStream.range(10, 60).filter(at -> at % step == 0).boxed().toList(),
          keys(
              ShownRow.all(
                  new PassThroughReader(
                      table.task(List.of("a")),
                      section,
                      BUCKET,
                      table.files().with(Map.of(location, chosen)),
                      false))));
    }
  }

  @Test
  void aFileWithoutAChosenRowIsNotOpened() throws IOException {
    ParquetTable table = tableOf(KeyForm.TEXT, 10);
    SectionPlan section = section(table);
    String location = section.runs().get(0).get(0).location();
    Files.delete(Path.of(location));
    DataFiles none = table.files().with(Map.of(location, new RoaringBitmap()));
    try (PassThroughReader reader =
        new PassThroughReader(table.task(List.of("a")), section, BUCKET, none, false)) {
      assertNull(reader.next());
    }
  }

  @Test
  void aColumnThatAFileLacksIsNull() throws IOException {
    ParquetTable table = table(KeyForm.NUMBER);
    table.commit(
        List.of(
            new WrittenRow(ParquetTable.key(4), 1, false, Map.of("a", new Cell(1, List.of(5L))))));
    SectionPlan section = section(table);
    assertEquals(
        List.of(new ShownRow(ParquetTable.key(4), Map.of("a", 5L), Map.of())),
        ShownRow.all(
            new PassThroughReader(
                table.task(List.of("a", "b")), section, BUCKET, table.files(), false)));
  }
}
