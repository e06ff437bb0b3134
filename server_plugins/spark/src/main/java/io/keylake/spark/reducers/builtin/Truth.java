package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.jspecify.annotations.Nullable;

/** Says whether any contribution is true, or all of them are. */
final class Truth extends Accumulator {
  private final boolean decisive;
  private boolean isDecided;

  /**
   * @param decisive the contribution of which one decides: true for any, false for all
   */
  Truth(boolean decisive) {
    this.decisive = decisive;
  }

  @Override
  protected void reset() {
    isDecided = false;
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    isDecided |= row.getBoolean(ordinal) == decisive;
  }

  @Override
  public @Nullable Object value() {
    return isEmpty() ? null : (Object) (isDecided == decisive);
  }
}
