package io.keylake.plaindeletes.index;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;

/**
 * Keys of rows whose values are of Iceberg's internal classes: those of generic records through
 * {@link org.apache.iceberg.data.InternalRecordWrapper}.
 */
public final class StructKeys {
  private final DeleteKey key;
  private final Type[] types;
  private final int[] positions;

  /**
   * @param columns of the rows
   */
  public StructKeys(DeleteGroup group, List<NestedField> columns) {
    key = group.newKey();
    types = group.fields().stream().map(NestedField::type).toArray(Type[]::new);
    positions =
        group.fields().stream()
            .mapToInt(
                field ->
                    columns.stream().map(NestedField::fieldId).toList().indexOf(field.fieldId()))
            .toArray();
  }

  /** The key of a row; it is the same object for the next one. */
  public DeleteKey of(StructLike row) {
    key.clear();
    for (int i = 0; i < types.length; i++) {
      Object value = row.get(positions[i], Object.class);
      if (value == null) {
        key.addNull();
      } else {
        add(types[i], value);
      }
    }
    return key;
  }

  private void add(Type type, Object value) {
    switch (type.typeId()) {
      case BOOLEAN -> key.addNumber((Boolean) value ? 1 : 0);
      case FLOAT -> key.addFloat((Float) value);
      case DOUBLE -> key.addDouble((Double) value);
      case STRING -> addBytes(value.toString().getBytes(StandardCharsets.UTF_8));
      case DECIMAL -> key.addDecimal((BigDecimal) value);
      case UUID -> key.addUuid((UUID) value);
      case FIXED, BINARY -> {
        ByteBuffer buffer = ((ByteBuffer) value).duplicate();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        addBytes(bytes);
      }
      default -> key.addNumber(((Number) value).longValue());
    }
  }

  private void addBytes(byte[] bytes) {
    key.addBytes(bytes, 0, bytes.length);
  }
}
