package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.jspecify.annotations.Nullable;

/** The number of contributions, whatever they say. */
final class ContributionCount extends Accumulator {
  private long count;

  @Override
  protected void reset() {
    count = 0;
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    count++;
  }

  @Override
  protected void subtract(SpecializedGetters row, int ordinal) {
    count--;
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    count += row.getLong(ordinal);
  }

  @Override
  public @Nullable Object value() {
    return isEmpty() ? null : count;
  }
}
