package io.keylake.spark.vectors;

import io.keylake.merge.Decisions;
import java.util.BitSet;
import java.util.function.IntFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * Rows that cannot be read. Whoever asks for one gets an error; a query that filters them out goes
 * on.
 */
public final class RefusedVector extends ReadOnlyVector {
  private final IntFunction<RuntimeException> why;

  private RefusedVector(DataType type, IntFunction<RuntimeException> why) {
    super(type);
    this.why = why;
  }

  /**
   * A column of which some rows cannot be read.
   *
   * @param why the error of a row
   */
  public static ColumnVector among(
      ColumnVector values, BitSet refused, int count, IntFunction<RuntimeException> why) {
    DataType type = values.dataType();
    int[] places = new int[count];
    for (int row = 0; row < count; row++) {
      places[row] = Decisions.place(refused.get(row) ? 1 : 0, row);
    }
    return new PickedVector(
        type, new ColumnVector[] {values, new RefusedVector(type, why)}, places);
  }

  @Override
  public boolean isNullAt(int row) {
    throw why.apply(row);
  }

  /** Members are asked for with their struct, which fails first. */
  @Override
  public ColumnVector getChild(int ordinal) {
    return this;
  }
}
