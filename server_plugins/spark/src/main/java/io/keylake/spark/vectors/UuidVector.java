package io.keylake.spark.vectors;

import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * Shows a stored column with its uuids, 16 bytes each, as the text that Spark knows them by:
 *
 * <pre>
 *   uuid              the text
 *   struct            its members, each shown so
 *   list, map         for each row its elements, as {@link HeldVector}s over the stored ones
 * </pre>
 */
public final class UuidVector extends ReadOnlyVector {
  private final ColumnVector stored;
  private final ColumnVector[] members;

  private UuidVector(ColumnVector stored, DataType shown) {
    super(shown);
    this.stored = stored;
    if (shown instanceof StructType struct) {
      this.members = new ColumnVector[struct.length()];
      for (int i = 0; i < members.length; i++) {
        members[i] = of(stored.getChild(i), struct.fields()[i].dataType());
      }
    } else {
      this.members = new ColumnVector[0];
    }
  }

  /** A stored column as Spark has it; the column itself where no uuid is in it. */
  public static ColumnVector of(ColumnVector stored, DataType shown) {
    return isShown(stored.dataType(), shown) ? new UuidVector(stored, shown) : stored;
  }

  /** Bytes in a stored type are text in the one that is shown. */
  private static boolean isShown(DataType stored, DataType shown) {
    if (shown instanceof StructType struct && stored instanceof StructType of) {
      for (int i = 0; i < struct.length(); i++) {
        if (isShown(of.fields()[i].dataType(), struct.fields()[i].dataType())) {
          return true;
        }
      }
      return false;
    }
    if (shown instanceof ArrayType list && stored instanceof ArrayType of) {
      return isShown(of.elementType(), list.elementType());
    }
    if (shown instanceof MapType map && stored instanceof MapType of) {
      return isShown(of.keyType(), map.keyType()) || isShown(of.valueType(), map.valueType());
    }
    return shown instanceof StringType && stored instanceof BinaryType;
  }

  static UTF8String text(byte[] stored) {
    ByteBuffer bytes = ByteBuffer.wrap(stored);
    return UTF8String.fromString(new UUID(bytes.getLong(), bytes.getLong()).toString());
  }

  @Override
  public boolean isNullAt(int row) {
    return stored.isNullAt(row);
  }

  @Override
  public @Nullable UTF8String getUTF8String(int row) {
    return stored.isNullAt(row) ? null : text(stored.getBinary(row));
  }

  @Override
  public ColumnarArray getArray(int row) {
    return HeldVector.array(
        stored.getArray(row),
        ((ArrayType) stored.dataType()).elementType(),
        ((ArrayType) type).elementType());
  }

  @Override
  public ColumnarMap getMap(int row) {
    return HeldVector.map(stored.getMap(row), (MapType) stored.dataType(), (MapType) type);
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return members[ordinal];
  }
}
