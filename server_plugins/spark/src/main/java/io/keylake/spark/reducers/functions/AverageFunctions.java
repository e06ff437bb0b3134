package io.keylake.spark.reducers.functions;

import io.keylake.spark.reducers.functions.ColumnFunctions.Named;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/** Contributions to the reducer Average, and what it says. */
final class AverageFunctions {
  private static final String SUM = "sum";
  private static final String COUNT = "count";

  private AverageFunctions() {}

  static List<Named> all() {
    return List.of(
        new Named("average_of", "average_of(value)", "a number", AverageFunctions::contribution),
        new Named(
            "average",
            "average(column)",
            "a struct of a number 'sum' and a bigint 'count'",
            AverageFunctions::average));
  }

  private static @Nullable ColumnFunction contribution(String name, List<DataType> arguments) {
    if (arguments.size() != 1 || !(arguments.get(0) instanceof NumericType number)) {
      return null;
    }
    StructType type = new StructType().add(SUM, number).add(COUNT, DataTypes.LongType);
    return new ColumnFunction(
        name, type, row -> new GenericInternalRow(new Object[] {row.get(0, number), 1L}), number);
  }

  private static @Nullable ColumnFunction average(String name, List<DataType> arguments) {
    boolean fits =
        arguments.size() == 1
            && arguments.get(0) instanceof StructType struct
            && struct.length() == 2
            && struct.getFieldIndex(SUM).isDefined()
            && struct.apply(SUM).dataType() instanceof NumericType
            && struct.getFieldIndex(COUNT).isDefined()
            && struct.apply(COUNT).dataType() instanceof LongType;
    if (!fits) {
      return null;
    }
    StructType type = (StructType) arguments.get(0);
    int sum = type.fieldIndex(SUM);
    int count = type.fieldIndex(COUNT);
    DataType number = type.apply(SUM).dataType();
    return new ColumnFunction(
        name, DataTypes.DoubleType, row -> average(row.getStruct(0, 2), sum, count, number), type);
  }

  private static @Nullable Object average(InternalRow parts, int sum, int count, DataType number) {
    boolean isNothing = parts.isNullAt(sum) || parts.isNullAt(count) || parts.getLong(count) == 0;
    return isNothing
        ? null
        : ((Number) parts.get(sum, number)).doubleValue() / parts.getLong(count);
  }
}
