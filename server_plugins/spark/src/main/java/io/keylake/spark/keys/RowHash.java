package io.keylake.spark.keys;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.hashing.BucketHash;
import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;

/** The bucket of several columns together, or of one that Iceberg's transform cannot serve. */
public final class RowHash {
  private final DataType[] types;
  private final boolean[] uuids;
  private final BucketHash hash = new BucketHash();

  /**
   * @param types of the columns that decide the bucket
   * @param uuids which of them, texts in Spark, are uuids in the table
   */
  public RowHash(DataType[] types, boolean[] uuids) {
    this.types = types;
    this.uuids = uuids;
  }

  /**
   * The bucket of a row, 0 where a column is null: no row of a table is like it.
   *
   * @param first position of the first of the columns
   */
  public int bucket(InternalRow row, int first, int buckets) {
    hash.reset();
    for (int i = 0; i < types.length; i++) {
      if (row.isNullAt(first + i)) {
        return 0; // a writer refuses the row, with its values
      }
      add(row, first + i, types[i], uuids[i]);
    }
    return hash.bucket(buckets);
  }

  private void add(InternalRow row, int at, DataType type, boolean isUuid) {
    if (isUuid) {
      hash.add(uuid(row.getUTF8String(at)));
    } else if (type.equals(DataTypes.BooleanType)) {
      hash.add(row.getBoolean(at));
    } else if (type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType)) {
      hash.add((long) row.getInt(at));
    } else if (type.equals(DataTypes.StringType)) {
      hash.add(row.getUTF8String(at).getBytes());
    } else if (type.equals(DataTypes.BinaryType)) {
      hash.add(row.getBinary(at));
    } else if (type instanceof DecimalType decimal) {
      Decimal value = row.getDecimal(at, decimal.precision(), decimal.scale());
      hash.add(value.toJavaBigDecimal());
    } else {
      hash.add(row.getLong(at));
    }
  }

  /** A uuid as Spark carries it. */
  public static UUID uuid(UTF8String text) {
    try {
      UUID uuid = UUID.fromString(text.toString());
      if (text.numBytes() == 36) {
        return uuid;
      }
    } catch (IllegalArgumentException e) {
      // said below
    }
    throw new KeylakeException(
        KeylakeException.Kind.BAD_ROWS,
        "'%s' is not a uuid; write it as xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".formatted(text));
  }
}
