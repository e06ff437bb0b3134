package io.keylake.spark.read.merge;

import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.types.Types.NestedField;

/**
 * The facts that all sections of a read have in common and a {@link ReadingStrategy} is chosen by.
 *
 * @param isOrdered whether the order of rows is of use
 * @param isFiltered whether files are asked for a part of their rows
 * @param columns how many columns the read gives
 * @param values how many of them are value columns
 * @param filterColumns how many columns the filter of rows looks at, or {@link #NO_FILTER}
 * @param isKeyFilter whether the filter of rows looks at columns of the sort key alone
 * @param hasCounts whether the table counts contributions, whose stored values are not those shown
 */
public record ReadFacts(
    boolean isOrdered,
    boolean isFiltered,
    int columns,
    int values,
    int filterColumns,
    boolean isKeyFilter,
    boolean hasCounts) {
  static final int NO_FILTER = -1;

  public static ReadFacts of(ReadTask task) {
    RowFilter filter = RowFilter.of(task);
    return new ReadFacts(
        task.isOrdered(),
        !task.filters().areNone(),
        task.output().size(),
        task.outputIds(OutputColumn.Source.VALUE).size(),
        filter == null ? NO_FILTER : filter.columns().size(),
        filter != null && task.schema().sortKey().containsAll(filter.fields()),
        !counts(task.schema()).isEmpty());
  }

  /** Field ids of the columns that read as 0 where nothing was counted. */
  static Set<Integer> counts(KeyedSchema schema) {
    return schema.values().stream()
        .filter(field -> schema.spec().reducer(field.name()).kind() == Reducer.Kind.COUNT)
        .map(NestedField::fieldId)
        .collect(Collectors.toSet());
  }

  boolean hasRowFilter() {
    return filterColumns != NO_FILTER;
  }

  /** A merge of keys and filtered columns leaves some column that it may spare. */
  boolean hasColumnsBesideFilter() {
    return columns > Math.max(filterColumns, 0) + 1;
  }

  /**
   * The filter may be asked of the rows of a file before their other columns are opened. Keys are
   * in order: pages without those that are asked for are not read anyway.
   */
  boolean maySieveFiles() {
    return hasRowFilter() && filterColumns != columns && !isKeyFilter && !hasCounts;
  }
}
