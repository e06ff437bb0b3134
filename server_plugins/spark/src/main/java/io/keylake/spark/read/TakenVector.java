package io.keylake.spark.read;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Some rows of a column, in an order of their own and as often as is wanted, and rows of nulls. */
public final class TakenVector extends LookedUpVector {
  /** A row of this number is null. */
  public static final int NOWHERE = -1;

  private final ColumnVector source;
  private final int[] rows;
  private final TakenVector[] children;

  /**
   * @param rows for each row its number in the source; it is not copied, and may be longer
   */
  public TakenVector(DataType type, ColumnVector source, int[] rows) {
    super(type);
    this.source = source;
    this.rows = rows;
    this.children = type instanceof StructType struct ? new TakenVector[struct.length()] : null;
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
  public ColumnVector getChild(int ordinal) {
    if (children[ordinal] == null) {
      DataType childType = ((StructType) type).fields()[ordinal].dataType();
      children[ordinal] = new TakenVector(childType, source.getChild(ordinal), rows);
    }
    return children[ordinal];
  }
}
