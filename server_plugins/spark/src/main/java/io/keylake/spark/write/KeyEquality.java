package io.keylake.spark.write;

import io.keylake.spark.write.WriteLayout.Column;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;

/** Whether two incoming rows have the same key. */
final class KeyEquality {
  private final Column[] key;

  KeyEquality(WriteLayout layout) {
    this.key = layout.key().toArray(Column[]::new);
  }

  boolean same(InternalRow a, InternalRow b) {
    for (Column column : key) {
      if (!same(a, b, column.position(), column.type())) {
        return false;
      }
    }
    return true;
  }

  private static boolean same(InternalRow a, InternalRow b, int i, DataType type) {
    if (WriteLayout.isInt(type)) {
      return a.getInt(i) == b.getInt(i);
    }
    if (type instanceof BooleanType) {
      return a.getBoolean(i) == b.getBoolean(i);
    }
    if (type instanceof StringType) {
      return a.getUTF8String(i).equals(b.getUTF8String(i));
    }
    if (type instanceof BinaryType) {
      return Arrays.equals(a.getBinary(i), b.getBinary(i));
    }
    if (type instanceof DecimalType decimal) {
      int precision = decimal.precision();
      int scale = decimal.scale();
      return a.getDecimal(i, precision, scale).equals(b.getDecimal(i, precision, scale));
    }
    return a.getLong(i) == b.getLong(i);
  }
}
