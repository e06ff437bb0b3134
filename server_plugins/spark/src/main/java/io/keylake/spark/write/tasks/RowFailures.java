package io.keylake.spark.write.tasks;

import io.keylake.spark.conditions.RequiredCondition;
import io.keylake.spark.conditions.RowCondition;
import io.keylake.spark.write.tasks.RowCheck.Operation;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** The conditions of a write whose rows come to the writers without having been tested. */
public record RowFailures(List<Condition> conditions) implements Serializable {
  /** A condition, of which columns, and its test. */
  private record Condition(String text, Set<String> columns, RowCondition condition)
      implements Serializable {}

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
    return row -> {
      if (layout.op() >= 0 && check.operation(row) != Operation.WRITE) {
        return null;
      }
      Set<String> carried = layout.columnsFrom() < 0 ? null : carried(row, layout.columnsFrom());
      for (int i = 0; i < tests.size(); i++) {
        Condition each = conditions.get(i);
        boolean isConcerned = carried == null || carried.containsAll(each.columns());
        if (isConcerned && !tests.get(i).holds(row)) {
          return each.text();
        }
      }
      return null;
    };
  }

  private static @Nullable Set<String> carried(InternalRow row, int position) {
    if (row.isNullAt(position)) {
      return null; // is refused by the writer
    }
    ArrayData names = row.getArray(position);
    Set<String> carried = new HashSet<>();
    for (int i = 0; i < names.numElements(); i++) {
      UTF8String name = names.getUTF8String(i);
      if (name != null) {
        carried.add(name.toString().toLowerCase(Locale.ROOT));
      }
    }
    return carried;
  }
}
