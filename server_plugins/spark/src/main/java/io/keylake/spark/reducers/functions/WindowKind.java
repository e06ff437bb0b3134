package io.keylake.spark.reducers.functions;

import java.util.Locale;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;

/** The kind of a window: what is asked of the values of some days. */
enum WindowKind {
  SUM,
  AVG,
  MIN,
  MAX,
  /** The number of days that have a value. */
  COUNT;

  String functionName() {
    return "window_" + name().toLowerCase(Locale.ROOT);
  }

  DataType resultType(DataType value) {
    return switch (this) {
      case COUNT -> DataTypes.LongType;
      case AVG -> DataTypes.DoubleType;
      case MIN, MAX -> value;
      case SUM ->
          value instanceof DecimalType decimal
              ? new DecimalType(DecimalType.MAX_PRECISION(), decimal.scale())
              : value instanceof DoubleType || value instanceof FloatType
                  ? DataTypes.DoubleType
                  : DataTypes.LongType;
    };
  }
}
