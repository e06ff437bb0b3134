package io.keylake.spark.read.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.Cell;
import io.keylake.merge.MergeRules;
import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.Presence;
import io.keylake.merge.RandomRuns;
import io.keylake.merge.Stamps;
import io.keylake.merge.StoredRow;
import io.keylake.spark.read.merge.ParquetTable.KeyForm;
import io.keylake.spark.read.task.OutputColumn.Source;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.roaringbitmap.RoaringBitmap;

/** Runs of files as a merge walks them, compared with the rows that were written to the files. */
class ColumnarRunCursorTest {
  private static final List<String> COLUMNS = List.of("a", "d", "m", "f");

  @TempDir private Path folder;
  private int stampsSeen;

  private ParquetTable table(String versions) throws IOException {
    return new ParquetTable(Files.createTempDirectory(folder, "table"), versions, KeyForm.NUMBER);
  }

  private static ColumnarRunCursor cursor(
      ParquetTable table, SectionPlan section, int run, List<RoaringBitmap> needed) {
    ReadTask task = table.task(COLUMNS);
    return new ColumnarRunCursor(
        task, section, run, task.outputIds(Source.VALUE), needed, table.files());
  }

  private List<SectionPlan> merged(ParquetTable table) {
    return table.plan(table.spec(COLUMNS, Wanted.ROWS_AND_STAMPS)).sections().stream()
        .filter(section -> !section.passedThrough())
        .toList();
  }

  @Test
  void aCursorShowsKeysValuesAndStampsOfTheRowsOfItsFiles() {
    RandomRuns.of(
        16,
        random -> {
          ParquetTable table = table(random.nextBoolean() ? "explicit" : "ordering");
          new RandomCommits(random, table, 60).make(1 + random.nextInt(4), 60, true);
          for (SectionPlan section : merged(table)) {
            for (int run = 0; run < section.runs().size(); run++) {
              boolean hasAll = random.nextBoolean();
              check(table, section, run, hasAll ? null : someRows(random, section, run));
            }
          }
        });
    assertTrue(stampsSeen > 0);
  }

  /** Numbers of rows for each file; null for a file that is read whole. */
  private static List<RoaringBitmap> someRows(Random random, SectionPlan section, int run) {
    List<RoaringBitmap> needed = new ArrayList<>();
    for (StoredFile file : section.runs().get(run)) {
      RoaringBitmap rows = new RoaringBitmap();
      int share = random.nextInt(4);
      for (int row = 0; row < file.rows(); row++) {
        if (random.nextInt(3) < share) {
          rows.add(row);
        }
      }
      needed.add(random.nextInt(4) == 0 ? null : rows);
    }
    return needed;
  }

  private void check(ParquetTable table, SectionPlan section, int run, List<RoaringBitmap> needed)
      throws IOException {
    List<StoredFile> files = section.runs().get(run);
    try (ColumnarRunCursor cursor = cursor(table, section, run, needed)) {
      long rows = 0;
      for (int size = cursor.load(); size > 0; size = cursor.load()) {
        List<StoredRow> stored = table.rows(files.get(cursor.file()).location());
        RoaringBitmap some = needed == null ? null : needed.get(cursor.file());
        for (int row = 0; row < size; row++) {
          int number = cursor.firstNumber() + row;
          int position = some == null ? number : some.select(number);
          assertEquals(position, cursor.position(row));
          check(table, section, run, cursor, row, stored.get(position));
        }
        rows += size;
      }
      assertEquals(count(files, needed), rows);
      assertEquals(rows, cursor.rowsRead());
      assertNull(cursor.column(table.field("k").fieldId()), "a run that has ended shows nothing");
    }
  }

  private static long count(List<StoredFile> files, List<RoaringBitmap> needed) {
    long count = 0;
    for (int file = 0; file < files.size(); file++) {
      RoaringBitmap some = needed == null ? null : needed.get(file);
      count += some == null ? files.get(file).rows() : some.getLongCardinality();
    }
    return count;
  }

  private void check(
      ParquetTable table,
      SectionPlan section,
      int run,
      ColumnarRunCursor cursor,
      int row,
      StoredRow stored) {
    assertEquals(stored.key().first(), number(cursor, table, "k", row));
    assertEquals(stored.version(), cursor.versions().at(row));
    MergeRules rules = section.merging();
    check(rules.written().get(run), cursor.written(), row, stored.written());
    check(rules.deleted().get(run), cursor.deleted(), row, stored.deleted());
    for (int c = 0; c < section.classes().size(); c++) {
      String leaf =
          table.schema.table().findColumnName(section.classes().get(c).leaf()).split("[.]")[2];
      Presence presence = rules.classes().get(c).byRun().get(run);
      check(presence, cursor.columns(c), row, stored.versionOf(leaf));
      for (int value : section.classes().get(c).values()) {
        String name = table.schema.table().findColumnName(value);
        if (section.carries(run, c)) {
          assertEquals(table.numberOf(stored, name), number(cursor, table, name, row), name);
        }
      }
    }
  }

  private void check(Presence presence, Stamps stamps, int row, Long expected) {
    switch (presence) {
      case PER_ROW -> {
        stampsSeen++;
        assertEquals(expected, stamps.isSet(row) ? Long.valueOf(stamps.at(row)) : null);
      }
      case NEVER -> assertNull(expected);
      default -> assertTrue(expected != null);
    }
  }

  private static Long number(ColumnarRunCursor cursor, ParquetTable table, String name, int row) {
    ColumnVector column = cursor.column(table.field(name).fieldId());
    return column == null || column.isNullAt(row) ? null : Long.valueOf(column.getLong(row));
  }

  @Test
  void aRunOpensOneFileAtATimeAndNoneOfWhichNoRowIsNeeded() throws IOException {
    ParquetTable table = table("explicit");
    Random random = new Random(1);
    new RandomCommits(random, table, 1000).make(3, 200, false);
    for (SectionPlan section : merged(table)) {
      for (int run = 0; run < section.runs().size(); run++) {
        List<RoaringBitmap> none = new ArrayList<>();
        section.runs().get(run).forEach(file -> none.add(new RoaringBitmap()));
        try (ColumnarRunCursor cursor = cursor(table, section, run, none)) {
          assertEquals(0, cursor.load());
          assertEquals(0, cursor.rowsRead());
        }
      }
    }
  }

  @Test
  void batchesOfRunsCoverAboutTheSameRangeOfKeys() throws IOException {
    ParquetTable table = table("explicit");
    table.commitFiles(List.of(everyKey(10)));
    table.commitFiles(List.of(everyKey(1)));
    table.commitFiles(List.of(everyKey(1000)));
    ReadTask task = table.task(COLUMNS);
    ReadTask large = new ReadTask(task.schema(), task.output(), task.filters(), true, 4000);
    SectionPlan section = merged(table).get(0);
    List<Integer> sizes = new ArrayList<>();
    for (int run = 0; run < section.runs().size(); run++) {
      try (ColumnarRunCursor cursor =
          new ColumnarRunCursor(large, section, run, Set.of(), null, table.files())) {
        sizes.add(cursor.load());
      }
    }
    assertEquals(List.of(400, 4000, 8), sizes, "of runs with 800, 8,000 and 8 rows");
  }

  private static List<StoredRow> everyKey(int step) {
    Cell cell = new Cell(1, List.of(1L));
    return LongStream.range(0, 8_000)
        .filter(key -> key % step == 0)
        .mapToObj(key -> new StoredRow(ParquetTable.key(key), 1L, null, Map.of("a", cell)))
        .toList();
  }
}
