package io.keylake.spark.read.lookups;

import io.keylake.spark.read.scan.Lookup;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/**
 * The rows of a look-up: a condition on those that are read, and columns made of them.
 *
 * @param condition bound to the columns that are read
 * @param columns of the rows that are given, in the same way
 */
record LookupRows(Lookup lookup, Expression condition, List<Expression> columns) {

  List<InternalRow> read() {
    return lookup.read(row -> Boolean.TRUE.equals(condition.eval(row)), this::shown);
  }

  private InternalRow shown(InternalRow row) {
    return new GenericInternalRow(columns.stream().map(column -> column.eval(row)).toArray());
  }

  @Override
  public String toString() {
    return lookup.toString();
  }
}
