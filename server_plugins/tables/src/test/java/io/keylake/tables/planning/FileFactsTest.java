package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.tables.planning.FileFacts.VersionRange;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the statistics of a file say, written as its rows and the facts. */
class FileFactsTest {
  private static final long MIN = Long.MIN_VALUE;
  private static final long MAX = Long.MAX_VALUE;

  private static FileFacts facts(MemoryTable table, String rows, String... wanted) {
    DataFile file = table.file("1.1", table.stored(rows));
    List<NestedField> leaves =
        Arrays.stream(wanted).map(name -> table.schema.leaves().field(name)).toList();
    return FileFacts.of(file, table.schema, leaves);
  }

  private static MemoryTable without(String versions, String... names) {
    return MemoryTable.create(versions, List.of("k"), 1, Set.of(names));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          1,2,3 a b @5         | ALWAYS  | true  | NEVER   | a=ALWAYS b=ALWAYS g=NEVER
          1 a @5; 2 b @6       | ALWAYS  | true  | NEVER   | a=PER_ROW b=PER_ROW g=NEVER
          1,2 a @5; 2 b @6     | ALWAYS  | true  | NEVER   | a=PER_ROW b=PER_ROW g=NEVER
          1,2 a@4 b g @5       | ALWAYS  | true  | NEVER   | a=PER_ROW b=ALWAYS g=ALWAYS
          1,2 delete @5        | NEVER   | false | ALWAYS  | a=NEVER b=NEVER g=NEVER
          1 delete @5; 2 a @5  | PER_ROW | false | PER_ROW | a=PER_ROW b=NEVER g=NEVER
          1 delete @4; 1 a @5  | ALWAYS  | true  | PER_ROW | a=ALWAYS b=NEVER g=NEVER
          1 delete @5; 1 a @5  | ALWAYS  | true  | ALWAYS  | a=ALWAYS b=NEVER g=NEVER
          1 a@7 @4; 1 delete @5; 2 b @3 | ALWAYS | true | PER_ROW | a=PER_ROW b=PER_ROW g=NEVER
          1 @5                 | ALWAYS  | true  | NEVER   | a=NEVER b=NEVER g=NEVER
          """)
  void presence(String rows, String written, boolean visible, String deleted, String leaves) {
    MemoryTable table = MemoryTable.create("explicit");
    FileFacts facts = facts(table, rows);
    assertEquals(written, facts.written().name());
    assertEquals(visible, facts.visible());
    assertEquals(deleted, facts.deleted().name());
    DataFile file = table.file("1.1", table.stored(rows));
    for (String each : leaves.split(" ")) {
      String[] leaf = each.split("=");
      NestedField field = table.schema.leaves().field(leaf[0]);
      assertEquals(leaf[1], FileFacts.presence(file, table.schema, field).name(), each);
    }
  }

  @Test
  void boundsOfKeys() {
    FileFacts facts = facts(MemoryTable.create("explicit"), "7,-3,5 a @5");
    assertEquals(new KeyBound(List.of(-3L), 0), facts.lower());
    assertEquals(new KeyBound(List.of(7L), 0), facts.upper());
  }

  /** The range of all stamps that a read of some leaves can meet. */
  @ParameterizedTest
  @CsvSource({
    "1 a @5; 2 b @9, 5, 9",
    "1 a@3 b @9, 3, 9",
    "1 b@3 a @9, 9, 9",
    "1 a @-4; 2 delete @-9, -9, -4",
    "1 delete @2; 1 a @9, 2, 9",
    "1 a@4 @2; 2 a @8, 4, 8",
    "1 a@4 @8; 2 b @20, 4, 20",
    "1 a @-9223372036854775808; 2 a @9223372036854775807, -9223372036854775808, 9223372036854775807",
  })
  void rangeOfVersions(String rows, long min, long max) {
    VersionRange range = facts(MemoryTable.create("explicit"), rows, "a").versions();
    assertEquals(max, range.max());
    assertEquals(min, Math.max(range.min(), min), "no version may lie below the range");
  }

  @Test
  void onlyWantedLeavesStretchTheRange() {
    MemoryTable table = MemoryTable.create("explicit");
    assertEquals(new VersionRange(9, 9), facts(table, "1 a@3 b@5 @9").versions());
    assertEquals(new VersionRange(5, 9), facts(table, "1 a@3 b@5 @9", "b").versions());
    assertEquals(new VersionRange(3, 9), facts(table, "1 a@3 b@5 @9", "a", "b").versions());
  }

  @Test
  void aLagBelowTheRangeOfVersionsIsNoRange() {
    MemoryTable table = MemoryTable.create("explicit");
    String near = (MIN + 5) + "";
    assertEquals(
        new VersionRange(MIN, MIN + 7),
        facts(table, "1 a @" + near + "; 2 a@" + (MIN + 2) + " @" + (MIN + 7), "a").versions());
    assertEquals(
        VersionRange.ANY,
        facts(table, "1 a @" + near + "; 2 a@" + MIN + " @" + (MIN + 7), "a").versions());
  }

  @Test
  void aLagThatFillsMoreThan63BitsIsNoRange() {
    MemoryTable table = MemoryTable.create("explicit");
    assertEquals(VersionRange.ANY, facts(table, "1 a@" + MIN + " @" + MAX, "a").versions());
    assertEquals(VersionRange.ANY, facts(table, "1 a@-2 @" + MAX + "; 2 a@1 @4", "a").versions());
  }

  @Test
  void theOrderingColumnStandsForTheVersion() {
    MemoryTable table = MemoryTable.create("ordering");
    assertEquals(new VersionRange(5, 8), facts(table, "1 t a @5; 2 t a @8", "a").versions());
    assertEquals(new VersionRange(9, 12), facts(table, "1 a @9; 2 b @12", "a").versions());
    assertEquals(new VersionRange(5, 12), facts(table, "1 t a @5; 2 b @12", "b").versions());
    assertEquals(new VersionRange(5, 12), facts(table, "1 t a @5; 1 b @12", "a").versions());
    // One row stores its version, the other does not: the lag of the one is taken off the lowest of
    // both.
    assertEquals(
        new VersionRange(-2, 12), facts(table, "1 t a @5; 1 b @12; 2 t a @6", "a").versions());
  }

  @Test
  void whatIsNotSaidIsAssumedToBeAnything() {
    FileFacts noKey = facts(without("explicit", "k"), "1 a @5");
    assertEquals(KeyBound.LOWEST, noKey.lower());
    assertEquals(KeyBound.HIGHEST, noKey.upper());
    assertEquals(new VersionRange(5, 5), noKey.versions());

    String info = "_merge_info.";
    assertEquals(
        VersionRange.ANY, facts(without("explicit", info + "version"), "1 a @5").versions());
    assertEquals(VersionRange.ANY, facts(without("ordering", "t"), "1 t a @5").versions());
    FileFacts noWritten = facts(without("explicit", info + "written"), "1 a @5");
    assertEquals("PER_ROW", noWritten.written().name());
    assertEquals(false, noWritten.visible());
    assertEquals(VersionRange.ANY, noWritten.versions());
    MemoryTable noLeaf = without("explicit", info + "columns.a");
    assertEquals(VersionRange.ANY, facts(noLeaf, "1 a @5", "a").versions());
    assertEquals(new VersionRange(5, 5), facts(noLeaf, "1 a @5", "b").versions());
  }

  @Test
  void everyFactRestsOnStatisticsThatWritersKeep() {
    KeyedSchema schema = MemoryTable.create("ordering").schema;
    Set<String> kept = new TreeSet<>(schema.exactStatistics());
    Set<String> needed = new TreeSet<>();
    Set<Integer> leaves = new TreeSet<>();
    schema.leaves().fields().forEach(leaf -> leaves.add(leaf.fieldId()));
    schema.statistics(leaves).forEach(id -> needed.add(schema.table().findColumnName(id)));
    assertEquals(needed, kept);
  }
}
