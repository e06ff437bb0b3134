package io.keylake.spark.keys;

import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** The value of a key column as sentences show it. */
public final class KeyText {
  private KeyText() {}

  public static String of(InternalRow row, int ordinal, DataType type) {
    if (row.isNullAt(ordinal)) {
      return "null";
    }
    Object value = row.get(ordinal, type);
    if (type.equals(DataTypes.DateType)) {
      return LocalDate.ofEpochDay((Integer) value).toString();
    }
    if (type.equals(DataTypes.TimestampType)) {
      return Instant.EPOCH.plus((Long) value, ChronoUnit.MICROS).toString();
    }
    return value.toString();
  }
}
