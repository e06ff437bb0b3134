package io.keylake.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What the merge promises to whoever drives it, beside the answer. */
class SortedMergeTest {
  private static final MergeRules NEWEST_RUN =
      new MergeRules(
          MergeRules.Order.RUN,
          List.of(Presence.ALWAYS, Presence.ALWAYS),
          List.of(Presence.NEVER, Presence.NEVER),
          List.of(new ColumnClass(List.of(Presence.ALWAYS, Presence.ALWAYS))),
          MergeRules.Wanted.ROWS);

  private static List<StoredRow> rows(long... keys) {
    Map<String, Cell> cells = Map.of("a", new Cell(1, List.of(1L)));
    return LongStream.of(keys)
        .mapToObj(key -> new StoredRow(new Key(key, 0), 1L, null, cells))
        .toList();
  }

  private static RowsCursor cursor(int run, int batchRows, long... keys) {
    return new RowsCursor(rows(keys), NEWEST_RUN, run, List.of("a"), batchRows, Key::first);
  }

  /** Each batch of decisions as "run.row" of its values. */
  private static List<String> batches(List<RowsCursor> cursors, int capacity) throws IOException {
    List<String> batches = new ArrayList<>();
    try (SortedMerge merge = new SortedMerge(cursors, NEWEST_RUN, capacity)) {
      for (Decisions next = merge.next(); next.count() > 0; next = merge.next()) {
        StringBuilder batch = new StringBuilder();
        for (int i = 0; i < next.count(); i++) {
          int place = next.places(0)[i];
          batch.append(" %d.%d".formatted(Decisions.run(place), Decisions.row(place)));
        }
        batches.add(batch.substring(1));
      }
    }
    return batches;
  }

  @Test
  void aBatchEndsWhereASourceBatchEnds() throws IOException {
    assertEquals(
        List.of("0.0 1.0 0.1", "1.1", "0.0", "1.0"),
        batches(List.of(cursor(0, 2, 1, 4, 7), cursor(1, 2, 2, 5, 9)), 100));
  }

  @Test
  void aBatchEndsWhereItIsFull() throws IOException {
    assertEquals(
        List.of("0.0 0.1", "1.0 1.1", "0.3"),
        batches(List.of(cursor(0, 9, 1, 2, 3, 5), cursor(1, 9, 3, 4)), 2));
  }

  @Test
  void theNewerRunWinsInItsCurrentBatch() throws IOException {
    assertEquals(
        List.of("1.0", "1.0", "1.0"),
        batches(List.of(cursor(0, 1, 1, 2, 3), cursor(1, 1, 1, 2, 3)), 100));
  }

  @Test
  void nothingMergedIsNothing() throws IOException {
    assertEquals(List.of(), batches(List.of(cursor(0, 1), cursor(1, 1)), 100));
    MergeRules none =
        new MergeRules(
            MergeRules.Order.RUN, List.of(), List.of(), List.of(), MergeRules.Wanted.ROWS);
    try (SortedMerge merge = new SortedMerge(List.of(), none, 1)) {
      assertEquals(0, merge.next().count());
    }
  }

  @Test
  void aPlaceKeepsTheLastRunAndTheLastRow() {
    int place = Decisions.place(Decisions.MAX_RUNS - 1, Decisions.MAX_BATCH - 1);
    assertEquals(Decisions.MAX_RUNS - 1, Decisions.run(place));
    assertEquals(Decisions.MAX_BATCH - 1, Decisions.row(place));
    assertTrue(place != Decisions.NOWHERE);
  }

  @Test
  void moreRunsThanAPlaceCanNameAreRefused() {
    List<RowsCursor> cursors = Collections.nCopies(Decisions.MAX_RUNS + 1, cursor(0, 1));
    Exception refused =
        assertThrows(IllegalArgumentException.class, () -> new SortedMerge(cursors, NEWEST_RUN, 1));
    assertEquals("cannot merge 32769 runs at once; the limit is 32768", refused.getMessage());
  }

  @Test
  void moreRowsThanAPlaceCanNameAreRefused() throws IOException {
    long[] keys = LongStream.rangeClosed(0, Decisions.MAX_BATCH).toArray();
    try (SortedMerge merge =
        new SortedMerge(List.of(cursor(0, keys.length, keys), cursor(1, 1)), NEWEST_RUN, 1)) {
      Exception refused = assertThrows(IllegalStateException.class, merge::next);
      assertEquals("a batch has 65537 rows; the limit is 65536", refused.getMessage());
    }
  }

  @Test
  void everyRunIsClosedThoughOneFails() {
    IOException failure = new IOException("the disk is gone");
    RowsCursor sound = cursor(1, 1, 1);
    RunCursor broken =
        new RunCursor() {
          @Override
          protected int load() {
            return 0;
          }

          @Override
          protected int compareTied(int row, RunCursor other, int otherRow) {
            return 0;
          }

          @Override
          protected boolean isExact() {
            return false;
          }

          @Override
          public Stamps versions() {
            return null;
          }

          @Override
          public Stamps written() {
            return null;
          }

          @Override
          public Stamps deleted() {
            return null;
          }

          @Override
          public Stamps columns(int columnClass) {
            return null;
          }

          @Override
          public void close() throws IOException {
            throw failure;
          }
        };
    SortedMerge merge = new SortedMerge(List.of(broken, sound), NEWEST_RUN, 1);
    assertSame(failure, assertThrows(IOException.class, merge::close));
    assertTrue(sound.isClosed());
  }
}
