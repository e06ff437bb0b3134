package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/** A step that is done with one of the contributions that a contribution is made of. */
interface ContributionStep {
  void take(Accumulator part, SpecializedGetters values, int index);
}
