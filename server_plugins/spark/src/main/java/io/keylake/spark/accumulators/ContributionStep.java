package io.keylake.spark.accumulators;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/** What is done with one of the contributions that a contribution is made of. */
interface ContributionStep {
  void take(Accumulator part, SpecializedGetters values, int index);
}
