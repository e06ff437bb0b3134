package io.keylake.spark.merge;

import io.keylake.merge.Decisions;
import io.keylake.spark.parquet.FileColumns;
import io.keylake.spark.vectors.PickedVector;
import io.keylake.tables.planning.SectionPlan;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * The query's filter, asked of merged rows, or of stored rows that are the answer as they stand. It
 * may let a row pass that Spark, who tests it again, does not; never the other way round.
 */
final class RowFilter implements StructLike {
  private final List<OutputColumn> output;
  private final List<NestedField> fields;
  private final Evaluator evaluator;
  private final ColumnVector[] vectors;
  private int row;

  private RowFilter(List<OutputColumn> output, List<NestedField> fields, Expression filter) {
    this.output = output;
    this.fields = fields;
    this.evaluator = new Evaluator(Types.StructType.of(fields), filter, true);
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
      vectors[i] = new PickedVector(column.type(), MergedReader.sources(cursors, column), places);
    }
  }

  /** What it looks at, as it is stored. */
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

  boolean passes(int mergedRow) {
    row = mergedRow;
    return evaluator.eval(this);
  }

  @Override
  public int size() {
    return vectors.length;
  }

  @Override
  public <T> @Nullable T get(int position, Class<T> type) {
    return type.cast(value(position));
  }

  private @Nullable Object value(int position) {
    ColumnVector vector = vectors[position];
    if (vector.isNullAt(row)) {
      return null;
    }
    return switch (fields.get(position).type().typeId()) {
      case BOOLEAN -> vector.getBoolean(row);
      case INTEGER, DATE -> vector.getInt(row);
      case LONG, TIMESTAMP -> vector.getLong(row);
      case FLOAT -> vector.getFloat(row);
      case DOUBLE -> vector.getDouble(row);
      case STRING -> vector.getUTF8String(row).toString();
      default -> decimal(vector, (Types.DecimalType) fields.get(position).type());
    };
  }

  private Object decimal(ColumnVector vector, Types.DecimalType type) {
    Decimal value = vector.getDecimal(row, type.precision(), type.scale());
    return value.toJavaBigDecimal();
  }

  @Override
  public <T> void set(int position, T value) {
    throw new UnsupportedOperationException("a row that is read cannot be changed");
  }
}
