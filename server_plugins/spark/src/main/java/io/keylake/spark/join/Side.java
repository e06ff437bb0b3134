package io.keylake.spark.join;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.DataType;

/**
 * A side that is joined to the rows of the first input, of which each meets one row or none.
 *
 * @param how what becomes of a row that meets none, or one
 * @param firstKey columns of the first input that are compared
 * @param ownKey columns of this side that are compared to them
 */
record Side(How how, List<Integer> firstKey, List<Integer> ownKey, List<DataType> types)
    implements Serializable {

  /** Kinds of joins, as they are with at most one match. */
  enum How {
    /** Every row stays; where there is no match, the values of this side are null. */
    OUTER,
    /** A row stays where there is a match. */
    INNER,
    /** A row stays where there is a match, and this side has no values. */
    SEMI,
    /** A row stays where there is no match. */
    ANTI;

    boolean keeps(boolean isMatched) {
      return this == OUTER || isMatched == (this != ANTI);
    }
  }
}
