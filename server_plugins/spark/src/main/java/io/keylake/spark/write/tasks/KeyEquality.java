package io.keylake.spark.write.tasks;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;

/** Says whether two incoming rows have the same key. */
final class KeyEquality {
  private final Same[] columns;

  /** A test of two rows: they have the same value of a column. */
  private interface Same {
    boolean in(InternalRow a, InternalRow b);
  }

  KeyEquality(WriteLayout layout) {
    this.columns =
        layout.key().stream()
            .map(column -> same(column.position(), column.type()))
            .toArray(Same[]::new);
  }

  boolean same(InternalRow a, InternalRow b) {
    for (Same column : columns) {
      if (!column.in(a, b)) {
        return false;
      }
    }
    return true;
  }

  private static Same same(int i, DataType type) {
    if (WriteLayout.isInt(type)) {
      return (a, b) -> a.getInt(i) == b.getInt(i);
    }
    if (type instanceof BooleanType) {
      return (a, b) -> a.getBoolean(i) == b.getBoolean(i);
    }
    if (type instanceof StringType) {
      return (a, b) -> a.getUTF8String(i).equals(b.getUTF8String(i));
    }
    if (type instanceof BinaryType) {
      return (a, b) -> Arrays.equals(a.getBinary(i), b.getBinary(i));
    }
    if (type instanceof DecimalType decimal) {
      int precision = decimal.precision();
      int scale = decimal.scale();
      return (a, b) -> a.getDecimal(i, precision, scale).equals(b.getDecimal(i, precision, scale));
    }
    return (a, b) -> a.getLong(i) == b.getLong(i);
  }
}
