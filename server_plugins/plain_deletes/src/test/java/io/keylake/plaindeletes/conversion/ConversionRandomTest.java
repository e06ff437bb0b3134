package io.keylake.plaindeletes.conversion;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.plaindeletes.index.DeletesTable;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What Iceberg's generic reader gives before and after conversions, over histories at random. */
class ConversionRandomTest extends ConversionCase {
  private static final List<Integer[]> FIELDS =
      List.of(new Integer[] {1}, new Integer[] {2}, new Integer[] {1, 2});

  private static Record some(Random random) {
    int small = random.nextInt(6);
    return row(
        random.nextInt(8) == 0 ? null : Long.valueOf(small),
        random.nextInt(8) == 0 ? null : "n" + random.nextInt(4),
        random.nextInt(5) == 0 ? null : small % 2);
  }

  private void change(Random random, DeletesTable made) throws IOException {
    Table table = made.table;
    List<FileScanTask> tasks = tasks(table);
    switch (random.nextInt(10)) {
      case 0 -> {
        if (table.spec().isUnpartitioned()) {
          table.updateSpec().addField("part").commit();
        } else {
          table.updateSpec().removeField("part").commit();
        }
      }
      case 1, 2 -> {
        FileScanTask task = tasks.get(random.nextInt(tasks.size()));
        deletePosition(table, task, random.nextInt((int) task.file().recordCount()));
      }
      case 3, 4, 5 -> {
        Record first = some(random);
        Record second = some(random);
        second.setField("part", first.getField("part"));
        append(made, first, second, first);
      }
      default -> delete(made, some(random), FIELDS.get(random.nextInt(FIELDS.size())));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void rowsAreTheSameAfterAnyHistory(long seed) throws IOException {
    Random random = new Random(seed);
    PartitionSpec spec = random.nextBoolean() ? PartitionSpec.unpartitioned() : BY_PART;
    DeletesTable made = new DeletesTable(SCHEMA, spec, 2 + (int) (seed % 2));
    append(made, row(1, 1), row(2, 1));
    for (int round = 0; round < 4; round++) {
      for (int i = 0; i < 6; i++) {
        change(random, made);
      }
      List<String> before = rows(made.table);
      if (random.nextBoolean()) {
        Expression where = Expressions.equal("part", random.nextInt(2));
        run(made.table, where, 1, () -> {}).run();
        assertEquals(before, rows(made.table));
      }
      ConversionRun whole =
          run(made.table, Expressions.alwaysTrue(), 1 + random.nextInt(3), () -> {});
      ConversionRun.Outcome planned = whole.plan();
      ConversionRun.Outcome done = whole.run();
      assertEquals(planned.removed(), done.removed());
      assertEquals(before, rows(made.table));
      assertEquals(0, equalityDeletes(made.table));
      assertEquals(0, convert(made.table).commits());
    }
  }
}
