package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;

/** The sum of numbers, exact until it is shown: order and cuts never matter. */
abstract class Sum extends Accumulator {

  /** The exact sum whatever the value says; what {@link #mergeWhole} takes. */
  abstract byte[] wholeState();

  /** Takes a sum that was combined before, of which the state says all. */
  abstract void mergeWhole(byte[] state);

  /** Adds a zero, which of the two zeros leaves the positive one. */
  abstract void addZero();
}
