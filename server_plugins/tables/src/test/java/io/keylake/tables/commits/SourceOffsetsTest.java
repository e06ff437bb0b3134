package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.OffsetRanges.Range;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTables;
import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Table;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A branch takes each offset of a source once, whoever sends it and whatever has expired. */
class SourceOffsetsTest {
  /** As files of keylake are called. */
  private static final String NAME =
      "data/00000-%d-c4c84282-2eb3-465b-a3ba-2efc403b8bb9-00001.parquet";

  private InMemoryCatalog catalog;
  private Table table;
  private int files;

  @BeforeEach
  void createTable() {
    catalog = MemoryTables.partitioned();
    table = catalog.loadTable(MemoryTables.NAME);
  }

  private static OffsetRanges ranges(Object... sourceFromUntil) {
    TreeMap<String, Range> ranges = new TreeMap<>();
    for (int i = 0; i < sourceFromUntil.length; i += 3) {
      Range range = new Range((int) sourceFromUntil[i + 1], (int) sourceFromUntil[i + 2]);
      ranges.put((String) sourceFromUntil[i], range);
    }
    return new OffsetRanges(ranges);
  }

  private DataFile file() {
    files++;
    return DataFiles.builder(table.spec())
        .copy(MemoryTables.dayFile(table, "1"))
        .withPath(NAME.formatted(files))
        .withSortOrder(KeyedSchema.of(table).keyOrder(table))
        .build();
  }

  private Commits.Result written(Table to, String branch, OffsetRanges offsets) {
    WriteLabels labels = WriteLabels.NONE.of(offsets);
    WriteSummary summary = new WriteSummary("update", 1, 7L, 9L, List.of("spend"), labels);
    Commits.Result result = new Commits(to).make(new Append(branch, List.of(file()), summary));
    table.refresh();
    return result;
  }

  private boolean write(Object... sourceFromUntil) {
    return written(table, null, ranges(sourceFromUntil)).isCommitted();
  }

  private Map<String, Long> next(String branch) {
    return SourceOffsets.next(table, branch);
  }

  private void assertRefused(Kind kind, String words, Runnable write) {
    Long head = new CommitLog(table, null).headId();
    KeylakeException refused = assertThrows(KeylakeException.class, write::run);
    assertEquals(kind, refused.kind(), refused.getMessage());
    assertTrue(refused.getMessage().contains(words), refused.getMessage());
    table.refresh();
    assertEquals(head, new CommitLog(table, null).headId());
  }

  private long head() {
    return table.currentSnapshot().snapshotId();
  }

  private long numberOf(long snapshotId) {
    return table.snapshot(snapshotId).sequenceNumber();
  }

  private void undo(String branch, long snapshotId) {
    new Commits(table).make(LedgerChanges.undo(branch, snapshotId));
    table.refresh();
  }

  private void copy(String branch, long snapshotId) {
    NumberSet same = NumberSet.of(numberOf(snapshotId));
    new Commits(table).make(LedgerChanges.copy(table, branch, snapshotId, same));
    table.refresh();
  }

  @Test
  void eachOffsetIsTakenOnce() {
    assertTrue(write("a", 50, 100, "b", 0, 7), "a new source begins anywhere");
    long first = head();
    Commits.Result again = written(table, null, ranges("a", 60, 100, "b", 7, 7));
    assertTrue(again.isRepeated());
    assertEquals(first, again.first().snapshotId());
    assertTrue(write("a", 100, 120, "b", 7, 7, "c", 3, 3));
    assertEquals(Map.of("a", 120L, "b", 7L), next(null));
    assertEquals(first, written(table, null, ranges("b", 0, 7)).first().snapshotId());
    assertEquals(head(), written(table, null, ranges("a", 50, 120)).first().snapshotId());
  }

  @ParameterizedTest
  @CsvSource({
    "a,150,160, 'goes on at offset 100 on branch ''main'' of', so that 100 to 150 would be missing",
    "a,150,150, goes on at offset 100, send it from offset 100",
    "a,90,110, goes on at offset 100, some of which are there already; send it from offset 100",
    "a,0,50, goes on at offset 100, 'which lie before its first, 50'",
    "a,0,60, goes on at offset 100, some of which are there already",
  })
  void offsetsThatDoNotFit(String source, int from, int until, String words, String more) {
    write("a", 50, 100);
    assertRefused(Kind.BAD_ROWS, words, () -> write(source, from, until));
    assertRefused(Kind.BAD_ROWS, more, () -> write(source, from, until));
  }

  @Test
  void repeatedAndNewOnesTogether() {
    write("a", 0, 100, "b", 0, 100);
    assertRefused(
        Kind.BAD_ROWS,
        "offsets 50 to 100 of source 'a' already, and the write has new ones of source 'b'",
        () -> write("a", 50, 100, "b", 100, 150));
  }

  @Test
  void theSlowerOfTwoWritersIsToldThatItIsMade() {
    Table stale = catalog.loadTable(MemoryTables.NAME);
    assertTrue(write("a", 0, 100));
    assertTrue(written(stale, null, ranges("a", 0, 100)).isRepeated());
    Table later = catalog.loadTable(MemoryTables.NAME);
    assertTrue(write("a", 100, 150));
    assertRefused(
        Kind.BAD_ROWS, "some of which", () -> written(later, null, ranges("a", 100, 200)));
    Table another = catalog.loadTable(MemoryTables.NAME);
    assertTrue(write("b", 0, 1));
    assertTrue(written(another, null, ranges("a", 150, 200)).isCommitted());
    assertEquals(Map.of("a", 200L, "b", 1L), next(null));
  }

  @Test
  void whatIsTakenBackIsToBeSentAgain() {
    write("a", 0, 100);
    write("a", 100, 200);
    final long second = head();
    write("a", 200, 300);
    undo(null, second);
    final long undo = head();
    assertEquals(Map.of("a", 100L), next(null));
    assertFalse(write("a", 200, 300));
    assertTrue(write("a", 300, 300, "b", 0, 1));
    assertRefused(Kind.BAD_ROWS, "send it from offset 100 to 200", () -> write("a", 100, 300));
    undo(null, undo);
    assertEquals(300L, next(null).get("a"));
    undo(null, head());
    assertTrue(write("a", 100, 150));
    assertRefused(
        Kind.COMMIT_CONFLICT,
        "would have the rows of source 'a' twice",
        () -> undo(null, head(-1)));
    assertTrue(write("a", 150, 200));
    assertEquals(300L, next(null).get("a"));
  }

  private long head(int before) {
    return new CommitLog(table, null).entries(each -> true, 1 - before).get(-before).snapshotId();
  }

  @Test
  void branchesAndRollbacks() {
    write("a", 0, 100);
    final long first = head();
    table.manageSnapshots().createBranch("draft").commit();
    assertTrue(written(table, "draft", ranges("a", 0, 100)).isRepeated());
    assertTrue(written(table, "draft", ranges("a", 100, 200)).isCommitted());
    final long onDraft = new CommitLog(table, "draft").headId();
    assertEquals(Map.of("a", 100L), next(null));
    assertTrue(write("a", 100, 150));
    assertRefused(Kind.COMMIT_CONFLICT, "source 'a' twice", () -> copy(null, onDraft));
    new Commits(table).make(new Rollback(null, first));
    table.refresh();
    assertEquals(Map.of("a", 100L), next(null));
    copy(null, onDraft);
    assertEquals(Map.of("a", 200L), next(null));
    assertEquals(head(), written(table, null, ranges("a", 100, 200)).first().snapshotId());
    undo(null, head());
    assertEquals(Map.of("a", 100L), next(null), "the copy is taken back");
    assertEquals(Map.of("a", 200L), next("draft"), "where it was written it is there");
    undo("draft", onDraft);
    assertEquals(Map.of("a", 100L), next("draft"));
  }

  @Test
  void expiredCommitsAreJoinedAsFarAsNobodyCanTellThemApart() {
    for (int i = 0; i < 5; i++) {
      write("a", i * 10, i * 10 + 10, "b" + i, 0, 1);
    }
    table.manageSnapshots().createBranch("draft").commit();
    long tagged = head();
    for (int i = 5; i < 10; i++) {
      write("a", i * 10, i * 10 + 10);
    }
    LedgerChanges.expire(table);
    assertNull(table.snapshot(table.currentSnapshot().parentId()));
    assertEquals(100L, next(null).get("a"));
    assertEquals(50L, next("draft").get("a"));
    int before = property().length();
    write("a", 100, 110);
    assertTrue(property().length() < before, property());
    assertEquals(110L, next(null).get("a"));
    assertEquals(50L, next("draft").get("a"));
    assertFalse(write("a", 0, 10, "b0", 0, 1));
    assertTrue(written(table, "draft", ranges("a", 50, 60)).isCommitted());
    undo("draft", tagged);
    assertEquals(40L, next("draft").get("a"));
    assertEquals(110L, next(null).get("a"));
  }

  private String property() {
    return table.properties().get("keylake.offsets");
  }

  @Test
  void whatNoBranchHasIsForgotten() {
    write("a", 0, 10);
    final long first = head();
    for (int i = 0; i < 3; i++) {
      write("lost" + i, 0, 10);
    }
    new Commits(table).make(new Rollback(null, first));
    table.refresh();
    write("a", 10, 20);
    LedgerChanges.expire(table);
    write("a", 20, 30);
    assertFalse(property().contains("lost"), property());
    assertEquals(Map.of("a", 30L), next(null));
  }

  @Test
  void whatIsLostIsSaidToBe() {
    write("a", 0, 10);
    table.rewriteManifests().clusterBy(file -> 0).commit();
    LedgerChanges.expire(table);
    assertRefused(Kind.SNAPSHOT_EXPIRED, "source 'a' cannot be told", () -> next(null));
    assertRefused(Kind.SNAPSHOT_EXPIRED, "source 'a' cannot be told", () -> write("a", 10, 20));
    assertTrue(write("a, again", 10, 20), "a source of another name is not concerned");
  }

  @Test
  void aBranchHasSoManySources() {
    TreeMap<String, Range> most = new TreeMap<>();
    for (int i = 0; i < OffsetRanges.MOST_SOURCES; i++) {
      most.put("s3://lake/in/part-%05d.json".formatted(i), new Range(0, 1_000_000));
    }
    assertTrue(written(table, null, new OffsetRanges(most)).isCommitted());
    assertRefused(Kind.BAD_ROWS, "the limit is 10000", () -> write("one more", 0, 1));
    assertTrue(write("s3://lake/in/part-00000.json", 1_000_000, 1_000_001));
  }

  @Test
  void aWriteWithoutRows() {
    new Commits(table).make(new Append(null, List.of(), WriteSummaries.of("update")));
    OffsetRanges.parse("offsets", "{\"a\": [5, 5]}").checkRows(0);
    KeylakeException refused =
        assertThrows(
            KeylakeException.class,
            () -> OffsetRanges.parse("offsets", "{\"a\": [5, 5]}").checkRows(1));
    assertTrue(refused.getMessage().contains("source 'a' is 5 to 5"), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          {"a": [0, 1], "a": [1, 2]} | Duplicate
          {}                         | offsets is {}; it must be a JSON object such as
          [0, 1]                     | it must be a JSON object such as
          {"a": 5}                   | offsets is 5 for source 'a'; it must be the first offset
          {"a": [5]}                 | [5] for source 'a'
          {"a": [1.0, 2]}            | [1.0,2] for source 'a'
          {"a": [2, 1]}              | [2,1] for source 'a'
          {"a": [-1, 1]}             | [-1,1] for source 'a'
          {"a": [0, 9223372036854775808]} | for source 'a'
          {"": [0, 1]}               | for a source of 0 characters
          """)
  void wrongJson(String json, String words) {
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> OffsetRanges.parse("offsets", json));
    assertTrue(refused.getMessage().contains(words), refused.getMessage());
  }
}
