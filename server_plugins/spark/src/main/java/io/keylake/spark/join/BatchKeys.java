package io.keylake.spark.join;

import io.keylake.spark.keys.KeyOrder;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * The keys of the rows of a batch, ready to be compared to those of another.
 *
 * <p>The first of several columns is often the bucket, which is the same in all rows; so two
 * columns are laid out as numbers, and only what these do not decide is looked at in the batch.
 */
final class BatchKeys {
  private final int[] columns;
  private final @Nullable KeyOrder leading;
  private final KeyOrder order;
  private final ColumnVector[] keys;
  private long[] lead = {};
  private long[] prefixes = {};
  private boolean[] nulls = {};
  private boolean mayHaveNull;

  BatchKeys(List<Integer> columns, List<DataType> types) {
    KeyOrder first = new KeyOrder(types.subList(0, 1));
    boolean leads = types.size() > 1 && first.isExact();
    this.columns = columns.stream().mapToInt(Integer::intValue).toArray();
    this.leading = leads ? first : null;
    this.order = new KeyOrder(leads ? types.subList(1, types.size()) : types);
    this.keys = new ColumnVector[columns.size() - (leads ? 1 : 0)];
  }

  /** Looks at another batch. */
  void show(ColumnarBatch batch) {
    int size = batch.numRows();
    if (size > prefixes.length) {
      lead = new long[size];
      prefixes = new long[size];
      nulls = new boolean[size];
    }
    int first = columns.length - keys.length;
    for (int i = 0; i < keys.length; i++) {
      keys[i] = batch.column(columns[first + i]);
    }
    findNulls(batch, size);
    for (int from = 0, to; from < size; from = to) {
      while (from < size && isNull(from)) {
        from++;
      }
      to = from;
      while (to < size && !isNull(to)) {
        to++;
      }
      if (leading != null) {
        leading.prefixes(batch.column(columns[0]), from, to, lead);
      }
      order.prefixes(keys[0], from, to, prefixes);
    }
  }

  private void findNulls(ColumnarBatch batch, int size) {
    mayHaveNull = false;
    for (int column : columns) {
      mayHaveNull |= batch.column(column).hasNull();
    }
    if (mayHaveNull) {
      for (int row = 0; row < size; row++) {
        nulls[row] = false;
        for (int column : columns) {
          nulls[row] |= batch.column(column).isNullAt(row);
        }
      }
    }
  }

  /** A key with a null equals none. */
  boolean isNull(int row) {
    return mayHaveNull && nulls[row];
  }

  /** Compares keys without nulls. */
  int compare(int row, BatchKeys other, int otherRow) {
    if (leading != null && lead[row] != other.lead[otherRow]) {
      return lead[row] < other.lead[otherRow] ? -1 : 1;
    }
    if (prefixes[row] != other.prefixes[otherRow]) {
      return prefixes[row] < other.prefixes[otherRow] ? -1 : 1;
    }
    return order.isExact() ? 0 : order.compareTied(keys, row, other.keys, otherRow);
  }
}
