package io.keylake.spark.read.predicates;

import java.math.BigDecimal;
import java.util.List;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.UnboundPredicate;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.jspecify.annotations.Nullable;

/** A comparison that Iceberg's evaluator is asked, of the values of each row. */
final class RowByRow implements ColumnPredicate, StructLike {
  private final List<NestedField> fields;
  private final Evaluator evaluator;
  private ColumnVector[] vectors = {};
  private int row;

  RowByRow(List<NestedField> fields, UnboundPredicate<?> predicate) {
    this.fields = fields;
    this.evaluator = new Evaluator(Types.StructType.of(fields), predicate, true);
  }

  @Override
  public void test(ColumnVector[] columns, int rows, boolean[] passing) {
    vectors = columns;
    for (row = 0; row < rows; row++) {
      passing[row] = evaluator.eval(this);
    }
  }

  @Override
  public int size() {
    return fields.size();
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

  private BigDecimal decimal(ColumnVector vector, Types.DecimalType type) {
    return vector.getDecimal(row, type.precision(), type.scale()).toJavaBigDecimal();
  }

  @Override
  public <T> void set(int position, T value) {
    throw new UnsupportedOperationException("a row that is read cannot be changed");
  }
}
