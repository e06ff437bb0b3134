package io.keylake.spark.vectors;

import io.keylake.merge.Decisions;
import io.keylake.tables.GuestApi;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Some rows of a column, in an order of their own and as often as is wanted, and rows of nulls. */
@GuestApi
public final class TakenVector extends LookedUpVector {
  /** A row of this number is null. */
  public static final int NOWHERE = Decisions.NOWHERE;

  private final ColumnVector source;
  private final int[] rows;

  /**
   * @param rows for each row its number in the source; it is not copied, and may be longer
   */
  public TakenVector(DataType type, ColumnVector source, int[] rows) {
    super(type);
    this.source = source;
    this.rows = rows;
  }

  @Override
  ColumnVector source(int row) {
    return source;
  }

  @Override
  int sourceRow(int row) {
    return rows[row];
  }

  @Override
  public boolean isNullAt(int row) {
    return rows[row] == NOWHERE || source.isNullAt(rows[row]);
  }

  @Override
  LookedUpVector child(DataType childType, int ordinal) {
    return new TakenVector(childType, source.getChild(ordinal), rows);
  }
}
