package io.keylake.spark.join;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.Test;

/** Random inputs, cut into batches anywhere, joined as a look-up of every row would join them. */
class JoinedBatchesTest {
  private static final List<DataType> KEY =
      List.of(DataTypes.IntegerType, DataTypes.StringType, DataTypes.LongType);

  /** A key of a number, a text and a number, each of which may be null, and a value. */
  private record Row(Integer a, String b, Long c, long value) {
    static final Comparator<Row> ORDER =
        Comparator.comparing(Row::a, Comparator.nullsFirst(Comparator.naturalOrder()))
            .thenComparing(Row::b, Comparator.nullsFirst(Comparator.naturalOrder()))
            .thenComparing(Row::c, Comparator.nullsFirst(Comparator.naturalOrder()));

    boolean hasNull() {
      return a == null || b == null || c == null;
    }
  }

  @Test
  void randomInputs() {
    for (int seed = 0; seed < 3000; seed++) {
      Random random = new Random(seed);
      List<Row> first = rows(random, random.nextInt(60), true);
      List<List<Row>> tables = new ArrayList<>();
      List<Side> sides = new ArrayList<>();
      List<JoinPlan.Output> output =
          new ArrayList<>(List.of(new JoinPlan.Output(0, 3, DataTypes.LongType)));
      for (int i = 0; i <= random.nextInt(3); i++) {
        Side.How how = Side.How.values()[random.nextInt(4)];
        sides.add(new Side(how, List.of(0, 1, 2), List.of(0, 1, 2), KEY));
        tables.add(rows(random, random.nextInt(60), false));
        if (how == Side.How.OUTER || how == Side.How.INNER) {
          output.add(new JoinPlan.Output(i + 1, 3, DataTypes.LongType));
        }
      }
      List<Iterator<ColumnarBatch>> inputs = new ArrayList<>();
      inputs.add(batches(random, first));
      tables.forEach(table -> inputs.add(batches(random, table)));
      long[] counted = {0};
      JoinedBatches joined =
          new JoinedBatches(new JoinPlan(sides, output), inputs, count -> counted[0] += count);
      List<List<Long>> found = new ArrayList<>();
      while (joined.hasNext()) {
        ColumnarBatch batch = joined.next();
        for (int row = 0; row < batch.numRows(); row++) {
          found.add(values(batch, row));
        }
      }
      assertEquals(expected(first, sides, tables), found, "seed " + seed);
      assertEquals(found.size(), counted[0]);
    }
  }

  private static List<Row> rows(Random random, int count, boolean isFirst) {
    TreeMap<Row, Row> unique = new TreeMap<>(Row.ORDER);
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      boolean mayBeNull = isFirst && random.nextInt(8) == 0;
      Row row =
          new Row(
              mayBeNull && random.nextBoolean() ? null : random.nextInt(2),
              mayBeNull && random.nextBoolean() ? null : "a common prefix " + random.nextInt(5),
              mayBeNull && random.nextBoolean() ? null : (long) random.nextInt(5) - 2,
              random.nextInt(1000));
      if (isFirst || unique.put(row, row) == null) {
        rows.add(row);
      }
    }
    rows.sort(Row.ORDER);
    return rows;
  }

  private static Iterator<ColumnarBatch> batches(Random random, List<Row> rows) {
    List<ColumnarBatch> batches = new ArrayList<>();
    for (int from = 0; from < rows.size(); ) {
      int to = Math.min(from + random.nextInt(1 + random.nextInt(20)), rows.size());
      batches.add(batch(rows.subList(from, to)));
      from = to;
    }
    return batches.iterator();
  }

  private static ColumnarBatch batch(List<Row> rows) {
    OnHeapColumnVector[] columns = {
      new OnHeapColumnVector(rows.size(), KEY.get(0)),
      new OnHeapColumnVector(rows.size(), KEY.get(1)),
      new OnHeapColumnVector(rows.size(), KEY.get(2)),
      new OnHeapColumnVector(rows.size(), DataTypes.LongType)
    };
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      if (row.a() == null) {
        columns[0].putNull(i);
      } else {
        columns[0].putInt(i, row.a());
      }
      if (row.b() == null) {
        columns[1].putNull(i);
      } else {
        columns[1].putByteArray(i, row.b().getBytes(java.nio.charset.StandardCharsets.UTF_8));
      }
      if (row.c() == null) {
        columns[2].putNull(i);
      } else {
        columns[2].putLong(i, row.c());
      }
      columns[3].putLong(i, row.value());
    }
    return new ColumnarBatch(columns, rows.size());
  }

  private static List<Long> values(ColumnarBatch batch, int row) {
    List<Long> values = new ArrayList<>();
    for (int i = 0; i < batch.numCols(); i++) {
      ColumnVector column = batch.column(i);
      values.add(column.isNullAt(row) ? null : column.getLong(row));
    }
    return values;
  }

  private static List<List<Long>> expected(
      List<Row> first, List<Side> sides, List<List<Row>> tables) {
    List<List<Long>> expected = new ArrayList<>();
    for (Row row : first) {
      List<Long> values = new ArrayList<>(List.of(row.value()));
      boolean isKept = true;
      for (int i = 0; i < sides.size(); i++) {
        Row met =
            tables.get(i).stream()
                .filter(other -> !row.hasNull() && Row.ORDER.compare(row, other) == 0)
                .findFirst()
                .orElse(null);
        Side.How how = sides.get(i).how();
        if (how == Side.How.OUTER || how == Side.How.INNER) {
          values.add(met == null ? null : (Long) met.value());
        }
        isKept &= how == Side.How.OUTER || (met == null) == (how == Side.How.ANTI);
      }
      if (isKept) {
        expected.add(values);
      }
    }
    return expected;
  }
}
