package io.keylake.spark.reducers.sketches;

import io.keylake.spark.reducers.Accumulator;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.jspecify.annotations.Nullable;

/** The union of bitmaps or sketches, which say all in their bytes. */
public final class UnionAccumulator extends Accumulator {
  private final BytesUnion union;

  public UnionAccumulator(BytesUnion union) {
    this.union = union;
  }

  @Override
  protected void reset() {
    union.clear();
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    union.add(row.getBinary(ordinal));
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    union.merge(row.getBinary(ordinal));
  }

  @Override
  public @Nullable Object value() {
    return isEmpty() ? null : union.bytes();
  }
}
