package io.keylake.spark.vectors;

import io.keylake.merge.Decisions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * A column of merged rows that copies nothing: row i is looked up at the place that was decided for
 * it, in the batch of the run that won. The batches stay in place until the next {@link Decisions}.
 */
public final class PickedVector extends LookedUpVector {
  private final ColumnVector[] sources;
  private final int[] places;

  /**
   * @param sources the column in each run's current batch; null in runs that do not carry it
   */
  public PickedVector(DataType type, ColumnVector[] sources, int[] places) {
    super(type);
    this.sources = sources;
    this.places = places;
  }

  @Override
  ColumnVector source(int row) {
    return sources[Decisions.run(places[row])];
  }

  @Override
  int sourceRow(int row) {
    return Decisions.row(places[row]);
  }

  @Override
  public boolean isNullAt(int row) {
    return places[row] == Decisions.NOWHERE || source(row).isNullAt(sourceRow(row));
  }

  @Override
  LookedUpVector child(DataType childType, int ordinal) {
    ColumnVector[] childSources = new ColumnVector[sources.length];
    for (int run = 0; run < sources.length; run++) {
      childSources[run] = sources[run] == null ? null : sources[run].getChild(ordinal);
    }
    return new PickedVector(childType, childSources, places);
  }
}
