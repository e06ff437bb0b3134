package io.keylake.spark.keys;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatchRow;
import org.jspecify.annotations.Nullable;

/**
 * One key, looked for in batches of rows.
 *
 * @param columns of the key
 * @param types of the columns as Spark sees them
 * @param values in Spark's internal form
 */
public record LookupKey(List<NestedField> columns, List<DataType> types, List<Object> values) {

  /** The rows that are looked through, which say where a column is. */
  public interface Batch {
    @Nullable ColumnVector column(int fieldId);
  }

  /** The row of the key among the first rows of a batch, or -1. */
  public int rowIn(Batch batch, int rows) {
    List<ColumnVector> vectors = new ArrayList<>();
    columns.forEach(
        column ->
            vectors.add(Objects.requireNonNull(batch.column(column.fieldId()), "keys are read")));
    ColumnarBatchRow row = new ColumnarBatchRow(vectors.toArray(ColumnVector[]::new));
    for (row.rowId = 0; row.rowId < rows; row.rowId++) {
      if (isAt(row)) {
        return row.rowId;
      }
    }
    return -1;
  }

  private boolean isAt(InternalRow row) {
    for (int i = 0; i < values.size(); i++) {
      if (!Objects.deepEquals(row.get(i, types.get(i)), values.get(i))) {
        return false;
      }
    }
    return true;
  }
}
