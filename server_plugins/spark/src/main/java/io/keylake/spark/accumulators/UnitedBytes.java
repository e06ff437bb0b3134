package io.keylake.spark.accumulators;

import io.keylake.spark.unions.BytesUnion;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.jspecify.annotations.Nullable;

/** The union of bitmaps or sketches, which say all in their bytes. */
final class UnitedBytes extends Accumulator {
  private final BytesUnion union;

  UnitedBytes(BytesUnion union) {
    this.union = union;
  }

  @Override
  void reset() {
    union.clear();
  }

  @Override
  void add(SpecializedGetters row, int ordinal) {
    union.add(row.getBinary(ordinal));
  }

  @Override
  void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    union.merge(row.getBinary(ordinal));
  }

  @Override
  public @Nullable Object value() {
    return isEmpty() ? null : union.bytes();
  }
}
