package io.keylake.pipelines.multitable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.pipelines.multitable.Targets.Target;
import io.keylake.spark.write.TableWrite;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Rows of several tables on their way to the tasks that write them. */
class RowRouterTest {
  private static final int TASKS = 3;
  private static final KeyedSchema SCHEMA = RowDecoderTest.schema();
  private static final StructType TYPE = TableWrite.rowType(SCHEMA);

  /** The tables one and two, and full, which takes no rows. */
  private static Targets targets() {
    return new Targets(
        Map.of("one", 0, "two", 1, "full", 2),
        Arrays.asList(
            new Target("shop.one", SCHEMA, null), new Target("shop.two", SCHEMA, null), null),
        TASKS);
  }

  private static InternalRow row(String table, String op, Long version, String json) {
    return new GenericInternalRow(
        new Object[] {
          text(table), text(op), version, text(json == null ? null : json.replace('\'', '"'))
        });
  }

  private static InternalRow row(String table, long key) {
    return row(table, "u", key, "{'p': 'x', 'k': %d}".formatted(key));
  }

  private static UTF8String text(String value) {
    return value == null ? null : UTF8String.fromString(value);
  }

  /** The rows that leave the router, each a copy. */
  private static List<InternalRow> routed(Targets targets, InternalRow... rows) {
    RowRouter router = new RowRouter(List.of(rows).iterator(), targets);
    List<InternalRow> routed = new ArrayList<>();
    while (router.hasNext()) {
      assertTrue(router.hasNext(), "a question changes nothing");
      routed.add(router.next().copy());
    }
    assertThrows(NoSuchElementException.class, router::next);
    return routed;
  }

  private static UnsafeRow unpacked(InternalRow moved) {
    UnsafeRow row = new UnsafeRow(TYPE.length());
    MovedRows.unpack(moved, row);
    return row;
  }

  private static int task(InternalRow moved) {
    return moved.getInt(MovedRows.TYPE.fieldIndex("task"));
  }

  @Test
  void aRowGoesToTheTaskOfItsTableAndBucket() {
    Targets targets = targets();
    InternalRow[] rows =
        IntStream.range(0, 60)
            .mapToObj(key -> row(key % 3 == 0 ? "one" : "two", key))
            .toArray(InternalRow[]::new);
    List<InternalRow> routed = routed(targets, rows);
    assertEquals(60, routed.size());
    Set<Integer> tasks = new TreeSet<>();
    for (int key = 0; key < 60; key++) {
      InternalRow moved = routed.get(key);
      UnsafeRow row = unpacked(moved);
      int table = key % 3 == 0 ? 0 : 1;
      assertNull(MovedRows.failure(moved));
      assertEquals(table, MovedRows.table(moved));
      assertEquals(key, row.getLong(TYPE.fieldIndex("k")));
      assertEquals(key, moved.getLong(MovedRows.TYPE.fieldIndex("version")));
      assertEquals(
          targets.taskOf(table, row.getInt(TYPE.fieldIndex(KeyedSchema.BUCKET))), task(moved));
      tasks.add(task(moved));
    }
    assertEquals(Set.of(0, 1, 2), tasks);
  }

  @Test
  void aTableThatIsNotListedIsNamedOnce() {
    List<InternalRow> routed =
        routed(
            targets(), row("three", 1), row("one", 2), row("three", 3), row(null, 4), row(null, 5));
    assertEquals(
        List.of(MovedRows.UNLISTED, 0, MovedRows.UNLISTED),
        routed.stream().map(MovedRows::table).toList());
    assertEquals("three", MovedRows.name(routed.get(0)));
    assertTrue(MovedRows.failure(routed.get(0)).contains("rows name the table 'three', which is"));
    assertEquals("", MovedRows.name(routed.get(2)));
    assertTrue(MovedRows.failure(routed.get(2)).contains("rows name no table, which is"));
  }

  @Test
  void rowsWithoutATableGoToTheOneWithoutAName() {
    Targets only = new Targets(Map.of("", 0), List.of(new Target("shop.one", SCHEMA, null)), TASKS);
    List<InternalRow> routed = routed(only, row(null, 1), row("", 2), row("one", 3));
    assertEquals(List.of(0, 0, MovedRows.UNLISTED), routed.stream().map(MovedRows::table).toList());
  }

  @Test
  void rowsOfATableThatTakesNoneAreLeftOut() {
    List<InternalRow> routed = routed(targets(), row("full", 1), row("one", 2), row("full", 3));
    assertEquals(List.of(0), routed.stream().map(MovedRows::table).toList());
    assertFalse(new RowRouter(List.of(row("full", 1)).iterator(), targets()).hasNext());
  }

  private static void refused(String why, InternalRow row) {
    List<InternalRow> routed = routed(targets(), row("two", 1), row, row("two", 2));
    InternalRow moved = routed.get(1);
    String failure = MovedRows.failure(moved);
    assertTrue(failure.contains(why), failure);
    assertTrue(failure.contains("no row of shop.two was written; correct the row"), failure);
    assertEquals(targets().taskOf(1, 0), task(moved));
    List<InternalRow> sorted = new ArrayList<>(routed);
    Collections.shuffle(sorted, new Random(1));
    sorted.sort(MovedRows.ORDER);
    assertEquals(failure, MovedRows.failure(sorted.get(0)), "it comes before the table's rows");
    assertNull(MovedRows.failure(routed.get(2)), "the next row is read");
  }

  @Test
  void aRowThatIsRefusedComesFirstWithItsReason() {
    String json = "{'p': 'x', 'k': 1}";
    refused("the version of the row is null", row("two", "u", null, json));
    refused("with version null", row("two", "u", null, json));
    refused("the operation of the row is 'x'; it is one of", row("two", "x", 5L, json));
    refused("the operation of the row is 'null'", row("two", null, 5L, json));
    refused("the row is null; it must be a JSON object", row("two", "u", 5L, null));
    refused("it is the row {\"k\": 1} with version 5", row("two", "u", 5L, "{'k': 1}"));
  }

  @Test
  void aLongRowIsShownShortened() {
    String json = "{'k': 1, 'z': '" + "y".repeat(5000) + "'}";
    String failure = MovedRows.failure(routed(targets(), row("one", "u", 5L, json)).get(0));
    assertTrue(failure.length() < 1000, failure);
  }
}
