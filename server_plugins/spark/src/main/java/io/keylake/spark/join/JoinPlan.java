package io.keylake.spark.join;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.DataType;

/**
 * A join of one input with several sides, in numbers of inputs and columns.
 *
 * @param output the columns of the result
 */
record JoinPlan(List<Side> sides, List<Output> output) implements Serializable {

  /**
   * A column of the result.
   *
   * @param input 0 is the first input, the sides follow
   * @param column among the columns of that input
   */
  record Output(int input, int column, DataType type) implements Serializable {}
}
