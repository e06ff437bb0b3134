package io.keylake.spark.read.merge;

import io.keylake.merge.Decisions;
import io.keylake.spark.parquet.FileColumns;
import io.keylake.spark.read.predicates.BatchPredicate;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.spark.vectors.PickedVector;
import io.keylake.tables.planning.SectionPlan;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * The query's filter, asked of merged rows, or of stored rows that are the answer as they stand. It
 * may let a row pass that Spark, who tests it again, does not; never the other way round.
 */
final class RowFilter {
  private final List<OutputColumn> output;
  private final List<NestedField> fields;
  private final BatchPredicate predicate;
  private final ColumnVector[] vectors;
  private boolean[] passing = {};

  private RowFilter(List<OutputColumn> output, List<NestedField> fields, Expression filter) {
    this.output = output;
    this.fields = fields;
    this.predicate = BatchPredicate.of(fields, filter);
    this.vectors = new ColumnVector[fields.size()];
  }

  /** The strictest filter of a task that can be asked here; null when there is none. */
  static @Nullable RowFilter of(ReadTask task) {
    return task.filters().onMerged().stream()
        .map(test -> of(task, test))
        .filter(Objects::nonNull)
        .findFirst()
        .orElse(null);
  }

  private static @Nullable RowFilter of(ReadTask task, Expression filter) {
    if (filter == Expressions.alwaysTrue() || filter.op() == Expression.Operation.TRUE) {
      return null;
    }
    Set<Integer> asked =
        Binder.boundReferences(task.schema().table().asStruct(), List.of(filter), true);
    List<OutputColumn> output = new ArrayList<>();
    List<NestedField> fields = new ArrayList<>();
    for (OutputColumn column : task.output()) {
      if (asked.contains(column.fieldId())) {
        NestedField field = task.schema().table().findField(column.fieldId());
        if (!isAskable(field)) {
          return null;
        }
        output.add(column);
        fields.add(field);
      }
    }
    return fields.size() == asked.size() ? new RowFilter(output, fields, filter) : null;
  }

  private static boolean isAskable(NestedField field) {
    return switch (field.type().typeId()) {
      case BOOLEAN, INTEGER, LONG, FLOAT, DOUBLE, DATE, TIMESTAMP, STRING, DECIMAL -> true;
      default -> false;
    };
  }

  /** Field ids of what it looks at. */
  Set<Integer> columns() {
    Set<Integer> ids = new HashSet<>();
    fields.forEach(field -> ids.add(field.fieldId()));
    return ids;
  }

  /** The rows that are asked next. */
  void show(List<ColumnarRunCursor> cursors, SectionPlan section, Decisions rows) {
    for (int i = 0; i < vectors.length; i++) {
      OutputColumn column = output.get(i);
      int[] places =
          column.source() == OutputColumn.Source.KEY
              ? rows.keys()
              : rows.places(section.classOf(column.fieldId()));
      vectors[i] = new PickedVector(column.type(), MergeReader.sources(cursors, column), places);
    }
  }

  /** The columns that the filter looks at, as they are stored. */
  List<NestedField> fields() {
    return fields;
  }

  /**
   * The rows of a file that are asked next, where they are the answer as they stand.
   *
   * @param batch of {@link #fields}
   */
  void show(ColumnarBatch batch, FileColumns columns) {
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = batch.column(columns.position(fields.get(i).fieldId()));
    }
  }

  /** The answers for the rows that are shown, each true where its row passes. */
  boolean[] passing(int rows) {
    if (passing.length < rows) {
      passing = new boolean[rows];
    }
    predicate.test(vectors, rows, passing);
    return passing;
  }
}
