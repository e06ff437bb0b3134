package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.Decisions;
import io.keylake.merge.Key;
import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.RowsCursor;
import io.keylake.merge.SortedMerge;
import io.keylake.merge.Stamps;
import io.keylake.merge.StoredRow;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.planning.SectionPlan.DecidedColumns;
import io.keylake.tables.planning.request.ReadSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Reads a table in memory as its plan says, and opens nothing else. */
public final class PlannedRead {
  private final MemoryTable table;
  private final ReadSpec readSpec;
  private final List<BucketPlan> plan;
  private final int of;

  /**
   * One row of a read.
   *
   * @param values of the wanted columns; what is not there is null
   * @param stamps absolute versions by name, with those of the leaves; none where they are not
   *     wanted
   */
  public record Answer(Key key, Map<String, Long> values, Map<String, Long> stamps) {

    public static Answer of(
        MemoryTable table, StoredRow row, Collection<String> columns, boolean withStamps) {
      Map<String, Long> values = new TreeMap<>();
      columns.forEach(column -> put(values, column, table.value(row, column)));
      Map<String, Long> stamps = new TreeMap<>();
      if (withStamps) {
        put(stamps, "version", row.version());
        put(stamps, "written", row.written());
        put(stamps, "deleted", row.deleted());
        row.cells().forEach((leaf, cell) -> put(stamps, "columns." + leaf, cell.at()));
      }
      return new Answer(row.key(), values, stamps);
    }

    private static void put(Map<String, Long> map, String name, Long value) {
      if (value != null) {
        map.put(name, value);
      }
    }
  }

  public PlannedRead(MemoryTable table, ReadSpec readSpec) {
    this(table, readSpec, new ReadPlanner(table.table, table.schema, readSpec).plan().buckets());
  }

  /**
   * @param plan the parts to read; those of one bucket in key order
   */
  public PlannedRead(MemoryTable table, ReadSpec readSpec, List<BucketPlan> plan) {
    this(
        table,
        readSpec,
        plan,
        BucketCounts.of(table.table).read(readSpec.snapshotId(), readSpec.scope().after()).first());
  }

  /**
   * @param of how many buckets there are where those of the plan are some
   */
  public PlannedRead(MemoryTable table, ReadSpec readSpec, List<BucketPlan> plan, int of) {
    this.table = table;
    this.readSpec = readSpec;
    this.plan = plan;
    this.of = of;
  }

  List<SectionPlan> sections() {
    return plan.stream().flatMap(bucket -> bucket.sections().stream()).toList();
  }

  /** All rows, by key. */
  public List<Answer> answers() throws IOException {
    List<Answer> answers = new ArrayList<>();
    Set<Object> keys = new HashSet<>();
    for (BucketPlan bucket : plan) {
      int before = answers.size();
      for (SectionPlan section : bucket.sections()) {
        answers.addAll(section.passedThrough() ? passedThrough(section) : merged(section));
      }
      for (int i = before; i < answers.size(); i++) {
        Key key = answers.get(i).key();
        assertEquals(
            bucket.partition().get(bucket.partition().size() - 1),
            BucketCounts.coarse(table.bucket(key), of));
        assertTrue(keys.add(key), "a key stands once");
        assertTrue(
            !readSpec.isOrdered() || i == before || answers.get(i - 1).key().compareTo(key) < 0,
            "keys ascend");
      }
    }
    answers.sort(Comparator.comparing(Answer::key));
    return answers;
  }

  private List<Answer> passedThrough(SectionPlan section) {
    assertEquals(Wanted.ROWS, readSpec.wanted());
    assertEquals(1, section.runs().size());
    List<String> columns = readSpec.values().stream().map(this::nameOf).toList();
    return rows(section, 0).stream()
        .peek(row -> assertTrue(row.isVisible()))
        .map(row -> Answer.of(table, row, columns, false))
        .toList();
  }

  private List<StoredRow> rows(SectionPlan section, int run) {
    return section.runs().get(run).stream()
        .flatMap(file -> table.rows(file).stream())
        .filter(row -> section.slice() == null || isIn(section.slice(), row.key()))
        .toList();
  }

  private static boolean isIn(KeySlice slice, Key key) {
    return (slice.lower() == null || (Long) slice.lower() <= key.first())
        && (slice.upper() == null || key.first() < (Long) slice.upper());
  }

  private String nameOf(int fieldId) {
    return table.schema.table().findColumnName(fieldId);
  }

  private List<Answer> merged(SectionPlan section) throws IOException {
    List<String> leaves =
        section.classes().stream()
            .map(c -> nameOf(c.leaf()).substring("_merge_info.columns.".length()))
            .toList();
    List<RowsCursor> cursors =
        IntStream.range(0, section.runs().size())
            .mapToObj(
                run ->
                    new RowsCursor(rows(section, run), section.rules(), run, leaves, 3, Key::first))
            .toList();
    List<Answer> answers = new ArrayList<>();
    try (SortedMerge merge = new SortedMerge(cursors, section.rules(), 7)) {
      for (Decisions next = merge.next(); next.count() > 0; next = merge.next()) {
        for (int index = 0; index < next.count(); index++) {
          answers.add(answer(section, cursors, leaves, next, index));
        }
      }
    }
    return answers;
  }

  private Answer answer(
      SectionPlan section,
      List<RowsCursor> cursors,
      List<String> leaves,
      Decisions decisions,
      int index) {
    Map<String, Long> values = new TreeMap<>();
    Map<String, Long> stamps = new TreeMap<>();
    for (int c = 0; c < section.classes().size(); c++) {
      int place = decisions.places(c)[index];
      if (place != Decisions.NOWHERE) {
        assertTrue(section.carries(Decisions.run(place), c), "the columns of this run are opened");
        StoredRow row = stored(place, cursors);
        DecidedColumns decided = section.classes().get(c);
        decided
            .values()
            .forEach(id -> Answer.put(values, nameOf(id), table.value(row, nameOf(id))));
      }
      putStamp(stamps, "columns." + leaves.get(c), decisions.columns(c), index);
    }
    putStamp(stamps, "version", decisions.versions(), index);
    putStamp(stamps, "written", decisions.written(), index);
    putStamp(stamps, "deleted", decisions.deleted(), index);
    return new Answer(stored(decisions.keys()[index], cursors).key(), values, stamps);
  }

  private void putStamp(Map<String, Long> into, String name, Stamps stamps, int index) {
    if (readSpec.wanted() != Wanted.ROWS && stamps.isSet(index)) {
      into.put(name, stamps.at(index));
    }
  }

  private static StoredRow stored(int place, List<RowsCursor> cursors) {
    return cursors.get(Decisions.run(place)).stored(Decisions.row(place));
  }
}
