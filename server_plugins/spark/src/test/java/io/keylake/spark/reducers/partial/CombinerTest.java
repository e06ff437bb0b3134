package io.keylake.spark.reducers.partial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.spark.reducers.partial.CombineSpec.Accumulated;
import io.keylake.tables.spec.Reducer;
import io.keylake.tables.spec.Reducer.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class CombinerTest {
  private static final int KEY = 0;
  private static final int VERSION = 1;
  private static final int NUMBER = 2;
  private static final int TEXT = 3;
  private static final int STATES = 4;
  private static final List<DataType> TYPES =
      List.of(
          DataTypes.LongType,
          DataTypes.LongType,
          DataTypes.LongType,
          DataTypes.StringType,
          new ArrayType(DataTypes.BinaryType, true));

  private static CombineSpec combining(boolean hasVersions) {
    return new CombineSpec(
        TYPES,
        List.of(KEY),
        hasVersions ? VERSION : -1,
        List.of(
            new Accumulated(NUMBER, Reducer.of(Kind.SUM)),
            new Accumulated(TEXT, Reducer.of(Kind.MAX))),
        STATES);
  }

  /** A row of a frame; Spark uses one object for all of a task. */
  private record Given(Long key, Long version, Long number, String text) {
    InternalRow row() {
      UTF8String utf8 = text == null ? null : UTF8String.fromString(text);
      return new GenericInternalRow(new Object[] {key, version, number, utf8, null});
    }
  }

  /** What comes out, each row copied as an exchange does. */
  private static List<UnsafeRow> combined(Stream<Given> rows, CombineSpec how) {
    UnsafeProjection projection = UnsafeProjection.create(TYPES.toArray(DataType[]::new));
    Iterator<InternalRow> incoming =
        rows.map(given -> (InternalRow) projection.apply(given.row())).iterator();
    List<UnsafeRow> found = new ArrayList<>();
    new Combiner(incoming, how, new SQLMetric("sum", 0))
        .forEachRemaining(row -> found.add(((UnsafeRow) row).copy()));
    return found;
  }

  private static Map<Long, Long> sums(List<UnsafeRow> rows) {
    Map<Long, Long> sums = new HashMap<>();
    for (UnsafeRow row : rows) {
      if (!row.isNullAt(NUMBER)) {
        sums.merge(row.getLong(KEY), row.getLong(NUMBER), Long::sum);
      }
    }
    return sums;
  }

  private static Stream<Given> halfOfOneKey(int rows) {
    Random random = new Random(1);
    return IntStream.range(0, rows)
        .mapToObj(
            i ->
                new Given(
                    i % 2 == 0 ? 7L : random.nextLong(), 0L, (long) i, "x" + random.nextInt()));
  }

  @Test
  void aHotKeyIsOneRow() {
    List<UnsafeRow> rows = combined(halfOfOneKey(200_000), combining(false));
    assertEquals(1, rows.stream().filter(row -> row.getLong(KEY) == 7).count());
    assertEquals(100_001, rows.size());
    assertEquals(199_998L * 100_000 / 2, sums(rows).get(7L));
  }

  @Test
  void keysThatComeOncePassOn() {
    List<UnsafeRow> rows =
        combined(
            IntStream.range(0, 100_000).mapToObj(i -> new Given((long) i, 0L, 1L, null)),
            combining(false));
    assertEquals(100_000, rows.size());
    assertEquals(100_000, sums(rows).size());
    assertTrue(rows.stream().allMatch(row -> row.isNullAt(STATES)), "none was combined");
  }

  @Test
  void aKeyThatIsHotLaterIsFound() {
    Stream<Given> cold =
        IntStream.range(100, 400_100).mapToObj(i -> new Given((long) i, 0L, 1L, ""));
    Stream<Given> hot = IntStream.range(0, 400_000).mapToObj(i -> new Given(5L, 0L, 1L, ""));
    List<UnsafeRow> rows = combined(Stream.concat(cold, hot), combining(false));
    assertEquals(400_000L, sums(rows).get(5L));
    assertTrue(rows.size() < 400_000 + 300_000, "combined from then on: " + rows.size());
  }

  @Test
  void theNewestVersionStandsForAll() {
    List<UnsafeRow> rows =
        combined(
            Stream.of(
                new Given(1L, 5L, 10L, "b"),
                new Given(1L, 9L, 1L, "c"),
                new Given(1L, 7L, 100L, "a")),
            combining(true));
    assertEquals(1, rows.size());
    assertEquals(9, rows.get(0).getLong(VERSION));
    assertEquals(111, rows.get(0).getLong(NUMBER));
    assertEquals("c", rows.get(0).getUTF8String(TEXT).toString());
  }

  /** A column that says nothing is older than a row that is made of several. */
  @Test
  void whereVersionsDifferRowsThatLackSomethingPassOn() {
    Given[] given = {
      new Given(1L, 5L, 10L, "b"),
      new Given(1L, 9L, null, "z"),
      new Given(1L, null, 1L, "z"),
      new Given(null, 9L, 1L, "z"),
      new Given(1L, 6L, 3L, "a")
    };
    List<UnsafeRow> rows = combined(Stream.of(given), combining(true));
    assertEquals(4, rows.size());
    assertEquals(
        2, combined(Stream.of(given), combining(false)).size(), "all but the one without key");
  }

  @Test
  void aSumWithoutPlaceInItsTypeTravelsAsState() {
    List<UnsafeRow> rows =
        combined(
            Stream.of(new Given(1L, 0L, Long.MAX_VALUE, null), new Given(1L, 0L, 1L, null)),
            combining(false));
    assertEquals(1, rows.size());
    assertTrue(rows.get(0).isNullAt(NUMBER));
    assertEquals(2, rows.get(0).getArray(STATES).numElements());
    assertTrue(rows.get(0).getArray(STATES).isNullAt(1), "the text says all");
  }

  @Test
  void whatIsHeldIsBounded() {
    String text = "x".repeat(1 << 16);
    List<UnsafeRow> rows =
        combined(
            IntStream.range(0, 4096).mapToObj(i -> new Given((long) i % 2, 0L, 1L, text)),
            combining(false));
    assertTrue(rows.size() > 10 && rows.size() < 40, "256 MiB pass on at each 32: " + rows.size());
    assertEquals(Map.of(0L, 2048L, 1L, 2048L), sums(rows));
  }

  @Test
  void largeRowsOfManyKeysAreNotHeldAllAtATime() {
    String text = "x".repeat(1 << 20);
    UnsafeProjection projection = UnsafeProjection.create(TYPES.toArray(DataType[]::new));
    AtomicInteger taken = new AtomicInteger();
    Iterator<InternalRow> incoming =
        IntStream.range(0, 300)
            .mapToObj(i -> new Given((long) i, 0L, 1L, text))
            .map(given -> (InternalRow) projection.apply(given.row()))
            .peek(row -> taken.incrementAndGet())
            .iterator();
    Combiner rows = new Combiner(incoming, combining(false), new SQLMetric("sum", 0));
    int most = 0;
    for (int passed = 1; rows.hasNext(); passed++) {
      rows.next();
      most = Math.max(most, taken.get() - passed);
    }
    assertEquals(300, taken.get());
    assertTrue(most <= 40, "rows of 1 MiB that were held: " + most);
  }

  @Test
  void ofRowsThatSayTheSameOneIsLeft() {
    CombineSpec same = new CombineSpec(TYPES.subList(0, 1), List.of(KEY), -1, List.of(), -1);
    UnsafeProjection projection = UnsafeProjection.create(new DataType[] {DataTypes.LongType});
    Iterator<InternalRow> incoming =
        IntStream.range(0, 5000)
            .<InternalRow>mapToObj(
                i -> projection.apply(new GenericInternalRow(new Object[] {(long) i % 3})))
            .iterator();
    List<Long> found = new ArrayList<>();
    new Combiner(incoming, same, new SQLMetric("sum", 0))
        .forEachRemaining(row -> found.add(row.getLong(0)));
    assertEquals(List.of(0L, 1L, 2L), found.stream().sorted().toList());
  }
}
