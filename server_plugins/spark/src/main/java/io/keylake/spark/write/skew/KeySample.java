package io.keylake.spark.write.skew;

import io.keylake.spark.write.skew.KeyRanges.Point;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;

/**
 * Some rows of a task: of every so many one at random, and of the more, the more there are. Which
 * ones shows in the layout of files and nowhere else.
 *
 * @param stride how many rows each of them stands for
 */
record KeySample(List<InternalRow> rows, long stride) implements Serializable {
  /**
   * @param placeOf what is kept of a row
   * @param atMost how many to keep; an even number
   */
  static KeySample of(Iterator<InternalRow> all, UnsafeProjection placeOf, int atMost) {
    List<InternalRow> kept = new ArrayList<>();
    Random random = new Random(0);
    long stride = 1;
    long passed = 0;
    long picked = 0;
    while (all.hasNext()) {
      InternalRow row = all.next();
      if (passed == picked) {
        kept.add(placeOf.apply(row).copy());
      }
      if (++passed == stride) {
        if (kept.size() == atMost) {
          halve(kept, random);
          stride *= 2;
        }
        passed = 0;
        picked = random.nextLong(stride);
      }
    }
    return new KeySample(kept, stride);
  }

  private static void halve(List<InternalRow> rows, Random random) {
    int half = rows.size() / 2;
    for (int i = 0; i < half; i++) {
      rows.set(i, rows.get(2 * i + random.nextInt(2)));
    }
    rows.subList(half, rows.size()).clear();
  }

  Stream<Point> points() {
    return rows.stream().map(row -> new Point(row, stride));
  }
}
