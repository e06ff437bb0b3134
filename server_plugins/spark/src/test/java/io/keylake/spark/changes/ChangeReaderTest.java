package io.keylake.spark.changes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeLaw;
import io.keylake.merge.RandomRuns;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.spark.read.merge.ParquetTable;
import io.keylake.spark.read.merge.ParquetTable.KeyForm;
import io.keylake.spark.read.merge.RandomCommits;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.planning.ChangePlan;
import io.keylake.tables.planning.ChangePlanner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Changes between two commits, compared with the difference of what the law gives of each. */
class ChangeReaderTest {
  @TempDir private Path folder;

  /** The kinds of changes that were read. */
  private final Set<String> kinds = new HashSet<>();

  /**
   * A row of the feed, with the numbers that its values stand for.
   *
   * @param before by column; null for a key that is new
   * @param after by column; null for a key that is gone
   */
  private record Change(
      Key key,
      String kind,
      List<String> differing,
      Map<String, Long> before,
      Map<String, Long> after,
      long commit) {}

  private ParquetTable table(KeyForm form) throws IOException {
    return new ParquetTable(Files.createTempDirectory(folder, "table"), "explicit", form);
  }

  private static ChangePlanner planner(ParquetTable table) {
    return new ChangePlanner(table.table, table.schema, Expressions.alwaysTrue());
  }

  private List<Change> read(ParquetTable table, ChangePlan plan) throws IOException {
    List<Change> changes = new ArrayList<>();
    for (ChangePlan.Bucket bucket : plan.buckets()) {
      try (ChangeReader reader = new ChangeReader(ParquetTable.DISK, table.schema, bucket)) {
        while (reader.next()) {
          assertEquals(0, reader.group(), "the bucket of a table without groups");
          changes.add(change(table, reader.get()));
          kinds.add(changes.get(changes.size() - 1).kind());
        }
      }
    }
    return changes;
  }

  private static Change change(ParquetTable table, InternalRow row) {
    int keys = table.schema.key().size();
    long second = keys > 1 ? row.getLong(1) : 0;
    List<String> differing = new ArrayList<>();
    for (int i = 0; i < row.getArray(keys + 1).numElements(); i++) {
      differing.add(row.getArray(keys + 1).getUTF8String(i).toString());
    }
    return new Change(
        new Key(number(row, 0, table.schema.key().get(0)), second),
        row.getUTF8String(keys).toString(),
        differing,
        image(table, row, keys + 2),
        image(table, row, keys + 3),
        row.getLong(keys + 4));
  }

  private static Map<String, Long> image(ParquetTable table, InternalRow row, int place) {
    List<NestedField> fields = table.schema.values();
    if (row.isNullAt(place)) {
      return null;
    }
    InternalRow image = row.getStruct(place, fields.size());
    Map<String, Long> values = new TreeMap<>();
    for (int i = 0; i < fields.size(); i++) {
      if (!image.isNullAt(i)) {
        values.put(fields.get(i).name(), number(image, i, fields.get(i)));
      }
    }
    return values;
  }

  private static long number(InternalRow row, int place, NestedField field) {
    DataType type = SparkSchemaUtil.convert(field.type());
    Object value = row.get(place, type);
    return value instanceof UTF8String text
        ? ParquetTable.number(text.toString())
        : ((Number) value).longValue();
  }

  /** The changes that lead from one state to another. */
  private static List<Change> expected(
      ParquetTable table, List<StoredRow> before, List<StoredRow> after, long commit) {
    Map<Key, Map<String, Long>> old = visible(table, before);
    Map<Key, Map<String, Long>> now = visible(table, after);
    List<Change> changes = new ArrayList<>();
    Set<Key> keys = new TreeSet<>(old.keySet());
    keys.addAll(now.keySet());
    for (Key key : keys) {
      Map<String, Long> was = old.get(key);
      Map<String, Long> is = now.get(key);
      if (was == null) {
        changes.add(new Change(key, "insert", List.of(), null, is, commit));
      } else if (is == null) {
        changes.add(new Change(key, "delete", List.of(), was, null, commit));
      } else if (!was.equals(is)) {
        changes.add(new Change(key, "update", differing(table, was, is), was, is, commit));
      }
    }
    return changes;
  }

  private static List<String> differing(
      ParquetTable table, Map<String, Long> was, Map<String, Long> is) {
    return table.schema.values().stream()
        .map(NestedField::name)
        .filter(name -> was.containsKey(name) || is.containsKey(name))
        .filter(name -> !(was.containsKey(name) && was.get(name).equals(is.get(name))))
        .toList();
  }

  private static Map<Key, Map<String, Long>> visible(ParquetTable table, List<StoredRow> rows) {
    Map<Key, Map<String, Long>> visible = new TreeMap<>();
    for (StoredRow row : rows) {
      if (row.isVisible()) {
        Map<String, Long> values = new TreeMap<>();
        for (NestedField field : table.schema.values()) {
          Long number = table.numberOf(row, field.name());
          if (number != null) {
            values.put(field.name(), number);
          }
        }
        visible.put(row.key(), values);
      }
    }
    return visible;
  }

  @Test
  void changesLeadFromOneCommitToAnother() {
    RandomRuns.of(
        6,
        random -> {
          ParquetTable table = table(KeyForm.values()[random.nextInt(3)]);
          RandomCommits commits = new RandomCommits(random, table, 40);
          List<Long> heads = new ArrayList<>(List.of(CommitRange.BEGINNING));
          for (int i = 0; i < 2 + random.nextInt(4); i++) {
            commits.make(1, 40, true);
            heads.add(table.head());
          }
          check(random, table, commits, heads);
        });
    assertEquals(Set.of("insert", "update", "delete"), kinds);
  }

  private void check(Random random, ParquetTable table, RandomCommits commits, List<Long> heads)
      throws IOException {
    int from = random.nextInt(heads.size() - 1);
    int to = from + 1 + random.nextInt(heads.size() - from - 1);
    CommitRange range = CommitRange.of(table.table, heads.get(from), heads.get(to));
    assertEquals(
        expected(table, commits.historyOf(from), commits.historyOf(to), heads.get(to)),
        read(table, planner(table).plan(range)));
    List<Change> apart = new ArrayList<>();
    for (int at = from + 1; at <= to; at++) {
      apart.addAll(
          expected(table, commits.historyOf(at - 1), commits.historyOf(at), heads.get(at)));
    }
    assertEquals(apart, read(table, planner(table).planApart(range)));
  }

  @Test
  void fewChangesOfALargeFileAreFoundByTheirKeys() throws IOException {
    for (KeyForm form : List.of(KeyForm.NUMBER, KeyForm.TEXT)) {
      ParquetTable table = table(form);
      List<List<WrittenRow>> commits =
          List.of(
              rows(1, false, LongStream.range(0, 18_000)),
              rows(2, false, LongStream.of(3, 9_000, 17_999, 20_000)),
              rows(3, true, LongStream.of(4, 9_000, 30_000)));
      table.commit(commits.get(0));
      long from = table.head();
      table.commit(commits.get(1));
      table.commit(commits.get(2));
      List<Change> changes =
          read(table, planner(table).plan(CommitRange.of(table.table, from, table.head())));
      assertEquals(
          expected(
              table,
              MergeLaw.history(commits.subList(0, 1), ParquetTable.REDUCTIONS),
              MergeLaw.history(commits, ParquetTable.REDUCTIONS),
              table.head()),
          changes);
      assertEquals(
          List.of("update", "delete", "delete", "update", "insert"),
          changes.stream().map(Change::kind).toList());
    }
  }

  private static List<WrittenRow> rows(long version, boolean areDeletes, LongStream keys) {
    return keys.mapToObj(
            key ->
                new WrittenRow(
                    ParquetTable.key(key),
                    version,
                    areDeletes,
                    areDeletes ? Map.of() : Map.of("a", new Cell(version, List.of(version)))))
        .toList();
  }

  @Test
  void aWriteOfTheSameValuesIsNoChange() throws IOException {
    ParquetTable table = table(KeyForm.TEXT_AND_NUMBER);
    Map<String, Cell> first = Map.of("a", new Cell(1, List.of(7L)));
    Map<String, Cell> same = Map.of("a", new Cell(2, List.of(7L)));
    table.commit(List.of(new WrittenRow(new Key(1, 2), 1, false, first)));
    long from = table.head();
    table.commit(List.of(new WrittenRow(new Key(1, 2), 2, false, same)));
    CommitRange range = CommitRange.of(table.table, from, table.head());
    assertTrue(read(table, planner(table).plan(range)).isEmpty());
  }
}
