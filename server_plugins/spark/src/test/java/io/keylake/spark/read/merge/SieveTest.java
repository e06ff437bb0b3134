package io.keylake.spark.read.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.Cell;
import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.RandomRuns;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileFilter;
import io.keylake.spark.read.indexes.IndexProbes;
import io.keylake.spark.read.merge.ParquetTable.KeyForm;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.SectionPlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongPredicate;
import java.util.stream.LongStream;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.roaringbitmap.RoaringBitmap;

/** Rows that a filter, or newer rows, make needless: a merge without them gives the same answer. */
class SieveTest {
  private static final List<String> COLUMNS = List.of("a", "b", "f", "m");

  @TempDir private Path folder;
  private int sieved;

  private ParquetTable table(KeyForm form) throws IOException {
    return new ParquetTable(Files.createTempDirectory(folder, "table"), "explicit", form);
  }

  /** The task of a read that a filter on merged rows makes smaller. */
  private static ReadTask filtered(ParquetTable table, Expression filter) {
    return filtered(table, COLUMNS, filter);
  }

  private static ReadTask filtered(ParquetTable table, List<String> columns, Expression filter) {
    ReadTask all = table.task(columns);
    ReadTask.Filters filters =
        new ReadTask.Filters(FileFilter.NONE, FileFilter.NONE, IndexProbes.NONE, List.of(filter));
    return new ReadTask(all.schema(), all.output(), filters, true, all.batchRows());
  }

  private static SectionPlan only(BucketPlan plan) {
    assertEquals(1, plan.sections().size());
    return plan.sections().get(0);
  }

  /** Rows of these keys, of which each has its key as the value of a. */
  private static List<WrittenRow> written(long version, LongStream keys) {
    return written(version, "a", keys);
  }

  private static List<WrittenRow> written(long version, String column, LongStream keys) {
    return keys.mapToObj(
            key ->
                new WrittenRow(
                    ParquetTable.key(key),
                    version,
                    false,
                    Map.of(column, new Cell(version, List.of(key)))))
        .toList();
  }

  @Test
  void aMergeOfTheRowsThatAreNeededGivesWhatPasses() {
    RandomRuns.of(
        12,
        random -> {
          ParquetTable table = table(KeyForm.values()[random.nextInt(3)]);
          List<StoredRow> history =
              new RandomCommits(random, table, 60).make(2 + random.nextInt(4), 40, false);
          check(random, table, history);
        });
    assertTrue(sieved > 3, "sections of which some rows are read: " + sieved);
  }

  private void check(Random random, ParquetTable table, List<StoredRow> history)
      throws IOException {
    long bound = random.nextInt(250);
    LongPredicate passes = value -> value < bound;
    ReadTask task = filtered(table, Expressions.lessThan("a", bound));
    BucketPlan plan = table.plan(table.spec(COLUMNS, Wanted.ROWS));
    DataFiles files = table.files();
    List<ShownRow> rows = new ArrayList<>();
    for (SectionPlan section : plan.sections()) {
      if (section.passedThrough()) {
        rows.addAll(
            ShownRow.all(new PassThroughReader(task, section, plan.partition(), files, true)));
      } else {
        Sieve.Needed needed = Sieve.sift(task, section, files);
        sieved += needed.isAll() ? 0 : 1;
        rows.addAll(
            ShownRow.all(new MergeReader(task, section, plan.partition(), files, needed, false)));
      }
    }
    assertEquals(
        history.stream()
            .filter(StoredRow::isVisible)
            .map(row -> ShownRow.of(table, row, COLUMNS, false))
            .filter(row -> isShown(row, passes))
            .toList(),
        rows.stream().filter(row -> isShown(row, passes)).toList());
  }

  private static boolean isShown(ShownRow row, LongPredicate passes) {
    Long value = row.values().get("a");
    return value != null && passes.test(value);
  }

  @Test
  void aRowIsNeededWhereItHoldsAValueOfARowThatPasses() throws IOException {
    ParquetTable table = table(KeyForm.NUMBER);
    table.commit(written(1, LongStream.range(0, 100)));
    table.commit(written(2, LongStream.range(50, 150)));
    BucketPlan plan = table.plan(table.spec(COLUMNS, Wanted.ROWS));
    ReadTask task = filtered(table, Expressions.in("a", 10L, 60L, 149L));
    Sieve.Needed needed = Sieve.sift(task, only(plan), table.files());
    assertEquals(RoaringBitmap.bitmapOf(10), needed.ofRun(0).get(0));
    assertEquals(RoaringBitmap.bitmapOf(10, 99), needed.ofRun(1).get(0));
  }

  @Test
  void aRowIsNeededThatHoldsOneValueOfARowThatPasses() throws IOException {
    ParquetTable table = table(KeyForm.NUMBER);
    table.commit(written(1, "a", LongStream.range(0, 100)));
    table.commit(written(2, "b", LongStream.range(50, 150)));
    BucketPlan plan = table.plan(table.spec(COLUMNS, Wanted.ROWS));
    ReadTask task = filtered(table, Expressions.in("a", 10L, 60L));
    SectionPlan section = only(plan);
    Sieve.Needed needed = Sieve.sift(task, section, table.files());
    assertEquals(RoaringBitmap.bitmapOf(10, 60), needed.ofRun(0).get(0));
    assertEquals(RoaringBitmap.bitmapOf(10), needed.ofRun(1).get(0));
    assertEquals(
        List.of(Map.of("a", 10L), Map.of("a", 60L, "b", 60L)),
        ShownRow.all(new MergeReader(task, section, plan.partition(), table.files(), needed, false))
            .stream()
            .map(ShownRow::values)
            .toList());
  }

  @Test
  void aRowIsNeededThatHoldsTheKeyAlone() throws IOException {
    ParquetTable table = table(KeyForm.NUMBER);
    table.commit(written(1, "a", LongStream.range(0, 100)));
    table.commit(written(2, "b", LongStream.range(90, 110)));
    BucketPlan plan = table.plan(table.spec(List.of("a"), Wanted.ROWS));
    ReadTask task = filtered(table, List.of("a"), Expressions.isNull("a"));
    Sieve.Needed needed = Sieve.sift(task, only(plan), table.files());
    assertEquals(new RoaringBitmap(), needed.ofRun(0).get(0));
    assertEquals(
        LongStream.range(10, 20).boxed().toList(),
        Arrays.stream(needed.ofRun(1).get(0).toArray()).asLongStream().boxed().toList());
  }

  @Test
  void allRowsAreReadWhereMostPass() throws IOException {
    ParquetTable table = table(KeyForm.NUMBER);
    table.commit(written(1, LongStream.range(0, 100)));
    table.commit(written(2, LongStream.range(50, 150)));
    BucketPlan plan = table.plan(table.spec(COLUMNS, Wanted.ROWS));
    ReadTask task = filtered(table, Expressions.lessThan("a", 100L));
    assertTrue(Sieve.sift(task, only(plan), table.files()).isAll());
  }

  @Test
  void aFirstLookAtManyRowsIsEnoughToReadAll() throws IOException {
    ParquetTable table = table(KeyForm.NUMBER);
    table.commit(written(1, LongStream.range(0, 12_000)));
    table.commit(written(2, LongStream.range(1, 12_001)));
    BucketPlan plan = table.plan(table.spec(COLUMNS, Wanted.ROWS));
    // Of all rows a fifth passes, and of the first ones each.
    ReadTask task = filtered(table, Expressions.lessThan("a", 2_400L));
    assertTrue(Sieve.sift(task, only(plan), table.files()).isAll());
    ReadTask last = filtered(table, Expressions.greaterThan("a", 9_600L));
    assertFalse(Sieve.sift(last, only(plan), table.files()).isAll());
  }

  @Test
  void rowsThatNewerOnesSupersedeAreSparedWithoutAFilter() throws IOException {
    ParquetTable table = table(KeyForm.NUMBER);
    table.commit(written(1, LongStream.range(0, 100)));
    table.commit(written(2, LongStream.range(5, 100)));
    BucketPlan plan = table.plan(table.spec(COLUMNS, Wanted.ROWS));
    ReadTask task = table.task(COLUMNS);
    SectionPlan section = only(plan);
    Sieve.Needed needed = Sieve.sift(task, section, table.files());
    assertEquals(RoaringBitmap.bitmapOf(0, 1, 2, 3, 4), needed.ofRun(0).get(0));
    assertNull(needed.ofRun(1).get(0), "a file whose rows win is read whole");
    assertEquals(
        LongStream.range(0, 100).boxed().toList(),
        ShownRow.all(new MergeReader(task, section, plan.partition(), table.files(), needed, false))
            .stream()
            .map(row -> row.values().get("a"))
            .toList());
  }

  @Test
  void aFileThatIsPassedThroughIsAskedForItsRowsThatPass() throws IOException {
    ParquetTable table = table(KeyForm.TEXT);
    table.commit(written(1, LongStream.range(0, 100)));
    SectionPlan section = only(table.plan(table.spec(COLUMNS, Wanted.ROWS)));
    SectionPlan.StoredFile file = section.runs().get(0).get(0);
    ReadTask few = filtered(table, Expressions.in("a", 3L, 70L));
    assertEquals(
        RoaringBitmap.bitmapOf(3, 70),
        Sieve.passing(few, few.choice(section), file, null, table.files()));
    assertEquals(
        RoaringBitmap.bitmapOf(70),
        Sieve.passing(
            few, few.choice(section), file, RoaringBitmap.bitmapOf(4, 70), table.files()));
    ReadTask most = filtered(table, Expressions.lessThan("a", 50L));
    assertNull(Sieve.passing(most, most.choice(section), file, null, table.files()));
    ReadTask all = table.task(COLUMNS);
    assertNull(Sieve.passing(all, all.choice(section), file, null, table.files()));
  }
}
