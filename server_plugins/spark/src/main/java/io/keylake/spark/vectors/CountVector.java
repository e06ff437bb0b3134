package io.keylake.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;

/** A column of counts: where a file has none, nothing was counted. */
public final class CountVector extends ReadOnlyVector {
  private final ColumnVector stored;

  public CountVector(ColumnVector stored) {
    super(DataTypes.LongType);
    this.stored = stored;
  }

  @Override
  public boolean isNullAt(int row) {
    return false;
  }

  @Override
  public boolean hasNull() {
    return false;
  }

  @Override
  public long getLong(int row) {
    return stored.isNullAt(row) ? 0 : stored.getLong(row);
  }
}
