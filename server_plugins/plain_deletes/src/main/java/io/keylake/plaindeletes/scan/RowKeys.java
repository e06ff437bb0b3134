package io.keylake.plaindeletes.scan;

import io.keylake.plaindeletes.index.DeleteGroup;
import io.keylake.plaindeletes.index.DeleteKey;
import java.util.UUID;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;

/** Keys of rows whose values are as Spark has them. */
final class RowKeys {
  private final DeleteKey key;
  private final Type[] types;
  private final int[] positions;

  /**
   * @param positions of the fields of the group in the rows
   */
  RowKeys(DeleteGroup group, int[] positions) {
    key = group.newKey();
    types = group.fields().stream().map(NestedField::type).toArray(Type[]::new);
    this.positions = positions;
  }

  /** The key of a row; it is the same object for the next one. */
  DeleteKey of(InternalRow row) {
    key.clear();
    for (int i = 0; i < types.length; i++) {
      if (row.isNullAt(positions[i])) {
        key.addNull();
      } else {
        add(types[i], row, positions[i]);
      }
    }
    return key;
  }

  private void add(Type type, InternalRow row, int position) {
    switch (type.typeId()) {
      case BOOLEAN -> key.addNumber(row.getBoolean(position) ? 1 : 0);
      case INTEGER, DATE -> key.addNumber(row.getInt(position));
      case FLOAT -> key.addFloat(row.getFloat(position));
      case DOUBLE -> key.addDouble(row.getDouble(position));
      case STRING -> addBytes(row.getUTF8String(position).getBytes());
      case UUID -> key.addUuid(UUID.fromString(row.getUTF8String(position).toString()));
      case FIXED, BINARY -> addBytes(row.getBinary(position));
      case DECIMAL -> {
        Types.DecimalType decimal = (Types.DecimalType) type;
        key.addDecimal(
            row.getDecimal(position, decimal.precision(), decimal.scale()).toJavaBigDecimal());
      }
      default -> key.addNumber(row.getLong(position));
    }
  }

  private void addBytes(byte[] bytes) {
    key.addBytes(bytes, 0, bytes.length);
  }
}
