package io.keylake.spark.write.tasks;

import io.keylake.spark.conditions.RequiredCondition;
import io.keylake.spark.conditions.RowCondition;
import io.keylake.spark.write.tasks.RowCheck.Operation;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.StructType;

/** The conditions of a write whose rows come to the writers without having been tested. */
public record RowFailures(List<Condition> conditions) implements Serializable {
  /** A condition, of which columns, and its test. */
  private record Condition(String text, Set<String> columns, RowCondition condition)
      implements Serializable {

    /** The places of its columns among the values of a layout. */
    int[] places(WriteLayout layout) {
      return IntStream.range(0, layout.values().size())
          .filter(i -> columns.contains(layout.values().get(i).name().toLowerCase(Locale.ROOT)))
          .toArray();
    }
  }

  public RowFailures {
    conditions = List.copyOf(conditions);
  }

  /**
   * @param type of the rows
   */
  public static RowFailures of(List<String> texts, KeyedSchema schema, StructType type) {
    List<Condition> conditions = new ArrayList<>();
    for (String text : texts) {
      Set<String> columns = RequiredCondition.of(text, schema).columns();
      conditions.add(new Condition(text, columns, RowCondition.of(text, type)));
    }
    return new RowFailures(conditions);
  }

  /** The tests of one task. */
  CheckedRows.Failure failures(WriteLayout layout, RowCheck check) {
    List<RowCondition.Test> tests =
        conditions.stream().map(each -> each.condition().test()).toList();
    List<int[]> columns = conditions.stream().map(each -> each.places(layout)).toList();
    return row -> {
      if (layout.op() >= 0 && check.operation(row) != Operation.WRITE) {
        return null;
      }
      boolean[] carried = layout.columnsFrom() < 0 ? null : check.carried(row);
      for (int i = 0; i < tests.size(); i++) {
        boolean isConcerned =
            carried == null || IntStream.of(columns.get(i)).allMatch(value -> carried[value]);
        if (isConcerned && !tests.get(i).holds(row)) {
          return conditions.get(i).text();
        }
      }
      return null;
    };
  }
}
