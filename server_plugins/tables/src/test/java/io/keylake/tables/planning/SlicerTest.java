package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.tables.planning.ReadPlan.Spread;
import io.keylake.tables.planning.RowGroups.RowGroup;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.planning.request.ReadSpec;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Spread plans as text. A part is one line: its sections, each with its files, and the slice of it
 * that is read. A row weighs 100 bytes, and a row group has four of them.
 */
class SlicerTest {

  private static String spread(MemoryTable table, Spread wanted) {
    ReadSpec readSpec = ReadSpec.ofColumns(table.head(), Set.of(), Wanted.ROWS);
    return new ReadPlanner(table.table, table.schema, readSpec)
        .plan().spread(wanted, file -> groupsOfFour(table, file)).stream()
            .map(part -> part.sections().stream().map(SlicerTest::text))
            .map(sections -> sections.collect(Collectors.joining(" | ")))
            .collect(Collectors.joining("\n"));
  }

  private static List<RowGroup> groupsOfFour(MemoryTable table, StoredFile file) {
    var rows = table.rows(file.location());
    return IntStream.range(0, (rows.size() + 3) / 4)
        .mapToObj(group -> new RowGroup(rows.get(4 * group).key().first(), 4))
        .toList();
  }

  private static String text(SectionPlan section) {
    String files =
        section.runs().stream()
            .flatMap(List::stream)
            .map(StoredFile::location)
            .collect(Collectors.joining(" "));
    KeySlice slice = section.slice();
    return slice == null
        ? files
        : "%s [%s, %s)".formatted(files, end(slice.lower()), end(slice.upper()));
  }

  private static String end(Object boundary) {
    return boundary == null ? "" : boundary.toString();
  }

  private static String keys(int from, int to) {
    return IntStream.range(from, to).mapToObj(String::valueOf).collect(Collectors.joining(","));
  }

  private static MemoryTable table() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit(keys(0, 4) + " a @1", keys(10, 14) + " a @1", keys(20, 40) + " a @1");
    table.commit(keys(30, 32) + " a @2");
    return table;
  }

  @Test
  void aSmallBucketIsOnePart() {
    assertEquals("1.1 | 1.2 | 1.3 2.1", spread(table(), new Spread(3000, 1)));
  }

  @Test
  void aBigBucketIsCutBetweenSections() {
    assertEquals("1.1 | 1.2\n1.3 2.1", spread(table(), new Spread(2500, 1)));
  }

  @Test
  void aBigSectionIsCutWhereRowGroupsOfItsBiggestRunStart() {
    assertEquals(
        """
        1.1 | 1.2
        1.3 2.1 [, 28)
        1.3 2.1 [28, 36)
        1.3 2.1 [36, )\
        """,
        spread(table(), new Spread(1000, 1)));
  }

  @Test
  void noPartIsFinerThanARowGroup() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit(keys(0, 8) + " a @1");
    assertEquals("1.1 [, 4)\n1.1 [4, )", spread(table, new Spread(1, 1)));
  }

  @Test
  void manyFilesOfARunNeedNoFooters() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit(
        IntStream.range(0, 20)
            .mapToObj(file -> keys(10 * file, 10 * file + 8) + " a @1")
            .toArray(String[]::new));
    table.commit(keys(0, 200) + " b @2");
    ReadSpec readSpec = ReadSpec.ofColumns(table.head(), Set.of(), Wanted.ROWS);
    List<BucketPlan> parts =
        new ReadPlanner(table.table, table.schema, readSpec)
            .plan()
            .spread(
                new Spread(20_000, 1),
                file -> List.of(new RowGroup(0L, 100), new RowGroup(90L, 100)));
    assertEquals(
        List.of(new KeySlice(null, 90L), new KeySlice(90L, null)),
        parts.stream().map(part -> part.sections().get(0).slice()).toList());
  }

  @Test
  void partsForIdleCoresAreNotTooSmall() {
    assertEquals("1.1 | 1.2 | 1.3 2.1", spread(table(), new Spread(Long.MAX_VALUE, 16)));
  }

  @Test
  void aCompoundKeyIsCutByItsFirstColumn() {
    MemoryTable table = MemoryTable.create("explicit", List.of("k", "l"), 1, Set.of());
    table.commitRows(
        List.of(table.stored(keys(0, 12) + " a @1"))); // the second column is the same everywhere
    assertEquals("1.1 [, 4)\n1.1 [4, 8)\n1.1 [8, )", spread(table, new Spread(400, 1)));
  }

  @ParameterizedTest
  @CsvSource({
    "abc, abc",
    "abcdefghij, abcdefgh",
    "ééééé, éééé",
    "aaaaaaaé, aaaaaaa",
    "\uD83D\uDE00\uD83D\uDE00x, \uD83D\uDE00\uD83D\uDE00"
  })
  void aTextIsCutToWholeCharacters(String text, String boundary) {
    assertEquals(boundary, Slicer.shortened(text));
  }
}
