package io.keylake.spark.vectors;

import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.UTF8String;

/** Shows stored uuids, 16 bytes each, as the text Spark knows them by. */
public final class UuidVector extends ReadOnlyVector {
  private final ColumnVector stored;

  public UuidVector(ColumnVector stored) {
    super(DataTypes.StringType);
    this.stored = stored;
  }

  @Override
  public boolean isNullAt(int row) {
    return stored.isNullAt(row);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    ByteBuffer bytes = ByteBuffer.wrap(stored.getBinary(row));
    return UTF8String.fromString(new UUID(bytes.getLong(), bytes.getLong()).toString());
  }
}
