package io.keylake.spark.write.skew;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.Test;

class FewRowsTest {
  private static final FewRows.Limit LIMIT = new FewRows.Limit(10, 1_000);

  private static UnsafeRow row(long value) {
    UnsafeRow row = UnsafeRow.createFromByteArray(16, 1);
    row.setLong(0, value);
    return row;
  }

  /** What a task makes: one row again and again, as Spark does. */
  private static Iterator<InternalRow> made(long... values) {
    UnsafeRow row = row(0);
    return LongStream.of(values)
        .<InternalRow>mapToObj(
            value -> {
              row.setLong(0, value);
              return row;
            })
        .iterator();
  }

  private static List<Long> passed(Iterator<InternalRow> rows) {
    List<Long> values = new ArrayList<>();
    rows.forEachRemaining(row -> values.add(row.getLong(0)));
    return values;
  }

  @Test
  void theDriverHasAllRowsOnceEachTaskHasToldItsOwn() {
    FewRows few = new FewRows(LIMIT);
    FewRows.Teller teller = few.teller(2);
    assertNull(few.all());
    assertEquals(List.of(3L, 1L, 2L), passed(teller.of(0, made(3, 1, 2))));
    assertNull(few.all());
    assertEquals(List.of(), passed(teller.of(1, made())));
    List<InternalRow> all = few.all();
    assertNotNull(all);
    assertEquals(List.of(3L, 1L, 2L), all.stream().map(row -> row.getLong(0)).toList());
  }

  @Test
  void aTaskWithMoreThanItsShareTellsNothing() {
    FewRows few = new FewRows(LIMIT);
    FewRows.Teller teller = few.teller(2);
    passed(teller.of(0, made(1, 2, 3, 4, 5)));
    assertEquals(6, passed(teller.of(1, made(1, 2, 3, 4, 5, 6))).size());
    assertNull(few.all());
    FewRows small = new FewRows(new FewRows.Limit(10, 40));
    passed(small.teller(1).of(0, made(1, 2, 3))); // of 16 bytes each
    assertNull(small.all());
    FewRows spread = new FewRows(LIMIT);
    passed(spread.teller(11).of(0, made(1)));
    assertEquals(0, spread.value().size(), "less than a row for each task");
  }

  @Test
  void aTaskThatIsEndedEarlyTellsNothingAndOneThatRunsAgainTellsItsRowsOnce() {
    FewRows few = new FewRows(LIMIT);
    FewRows.Teller teller = few.teller(1);
    teller.of(0, made(1, 2)).next();
    assertNull(few.all());
    FewRows ofTask = (FewRows) few.copyAndReset();
    for (int attempt = 0; attempt < 2; attempt++) {
      passed(new FewRows.Teller(ofTask, LIMIT).of(0, made(1, 2)));
      few.merge(ofTask);
    }
    List<InternalRow> all = few.all();
    assertNotNull(all);
    assertEquals(2, all.size());
  }
}
