package io.keylake.spark.write.skew;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.spark.write.skew.KeyRanges.Point;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

class KeyRangesTest {
  private static final DataType[] TYPES = {DataTypes.IntegerType, DataTypes.LongType};
  private static final KeyRanges RANGES = new KeyRanges(TYPES, 1);

  @Test
  void bucketsOfAboutOneSizeStayWhole() {
    List<Point> sample = new ArrayList<>();
    Random random = new Random(1);
    for (int bucket = 0; bucket < 16; bucket++) {
      addBucket(sample, bucket, 900 + random.nextInt(200));
    }
    assertEquals(wholeBuckets(1, 16), shown(RANGES.cuts(sample, 16)));
  }

  @Test
  void smallBucketsShareARange() {
    List<Point> sample = new ArrayList<>();
    for (int bucket = 0; bucket < 100; bucket++) {
      addBucket(sample, bucket, 10);
    }
    assertEquals(List.of("25", "50", "75"), shown(RANGES.cuts(sample, 4)));
  }

  @Test
  void aHotBucketIsCutByKeyAndTheOthersAreNot() {
    List<Point> sample = new ArrayList<>();
    addBucket(sample, 0, 50);
    addBucket(sample, 1, 900);
    addBucket(sample, 2, 50);
    Map<Integer, Long> sizes = sizes(sample, RANGES.cuts(sample, 3));
    assertTrue(Collections.max(sizes.values()) < 2 * 1000 / sizes.size(), sizes.toString());
    assertEquals(List.of("1", "1:300", "1:600"), shown(RANGES.cuts(sample, 4)));
  }

  @Test
  void aCompoundKeyIsCutByItsLaterColumnsOnlyWhereTheFirstIsHot() {
    DataType[] types = {DataTypes.IntegerType, DataTypes.LongType, DataTypes.LongType};
    List<Point> sample = new ArrayList<>();
    for (long shop = 0; shop < 20; shop++) {
      for (long visitor = 0; visitor < (shop == 7 ? 500 : 25); visitor++) {
        sample.add(new Point(new GenericInternalRow(new Object[] {0, shop, visitor}), 1));
      }
    }
    for (int bucket = 1; bucket < 8; bucket++) {
      sample.add(new Point(new GenericInternalRow(new Object[] {bucket, 0L, 0L}), 1));
    }
    List<String> cuts =
        new KeyRanges(types, 1)
            .cuts(sample, 10).stream()
                .map(
                    cut ->
                        cut.toSeq(
                                new StructType().add("b", "int").add("s", "long").add("v", "long"))
                            .mkString(":"))
                .toList();
    assertEquals(
        List.of(
            "0:4:null",
            "0:7:null",
            "0:7:100",
            "0:7:200",
            "0:7:300",
            "0:7:400",
            "0:8:null",
            "0:12:null",
            "0:16:null"),
        cuts);
  }

  @Test
  void aKeyIsNeverCut() {
    List<Point> sample = new ArrayList<>();
    addBucket(sample, 0, 100);
    sample.addAll(Collections.nCopies(800, point(0, 50, 1)));
    addBucket(sample, 1, 100);
    assertEquals(List.of("0:50", "0:51"), shown(RANGES.cuts(sample, 10)));
  }

  @Test
  void theNumberOfRangesIsBounded() {
    Random random = new Random(2);
    List<Point> sample = new ArrayList<>();
    for (int bucket = 0; bucket < 500; bucket++) {
      addBucket(sample, bucket, (int) Math.exp(7 * random.nextDouble()));
    }
    for (int ranges : new int[] {1, 2, 7, 64, 200, 1000}) {
      List<InternalRow> cuts = RANGES.cuts(sample, ranges);
      assertTrue(cuts.size() < ranges);
      Map<Integer, Long> sizes = sizes(sample, cuts);
      assertTrue(Collections.max(sizes.values()) <= 2 * sample.size() / sizes.size() + 1);
    }
    assertEquals(List.of(), RANGES.cuts(List.of(), 200));
  }

  @Test
  void aSampleStandsForAllRowsWhateverTheirOrder() {
    List<InternalRow> rows = new ArrayList<>();
    for (int i = 0; i < 100_000; i++) {
      rows.add(new GenericInternalRow(new Object[] {i % 64, (long) i}));
    }
    KeySample sample = KeySample.of(rows.iterator(), UnsafeProjection.create(TYPES), 1000);
    long standsFor = sample.points().mapToLong(Point::rows).sum();
    assertEquals(100_000, standsFor, 1000);
    assertEquals(64, sample.rows().stream().map(row -> row.getInt(0)).distinct().count());
  }

  private static void addBucket(List<Point> sample, int bucket, int rows) {
    for (int key = 0; key < rows; key++) {
      sample.add(point(bucket, key, 1));
    }
  }

  private static Point point(int bucket, long key, long rows) {
    return new Point(new GenericInternalRow(new Object[] {bucket, key}), rows);
  }

  private static List<String> wholeBuckets(int from, int until) {
    List<String> cuts = new ArrayList<>();
    for (int bucket = from; bucket < until; bucket++) {
      cuts.add(String.valueOf(bucket));
    }
    return cuts;
  }

  private static List<String> shown(List<InternalRow> cuts) {
    return cuts.stream()
        .map(cut -> cut.getInt(0) + (cut.isNullAt(1) ? "" : ":" + cut.getLong(1)))
        .toList();
  }

  private static Map<Integer, Long> sizes(List<Point> sample, List<InternalRow> cuts) {
    KeyRange range = new KeyRange(TYPES, cuts);
    Map<Integer, Long> sizes = new TreeMap<>();
    sample.forEach(
        point -> sizes.merge(range.produceResult(point.place()), point.rows(), Long::sum));
    return sizes;
  }
}
