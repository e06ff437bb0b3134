package io.keylake.spark.read.task;

import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.DataType;

/**
 * One column of a scan's output.
 *
 * @param fieldId of the stored column, for {@link Source#KEY} and {@link Source#VALUE}
 * @param type as Spark sees it
 * @param hasUuids whether it is or holds uuids, stored as 16 bytes and shown as text
 */
public record OutputColumn(Source source, int fieldId, DataType type, boolean hasUuids)
    implements Serializable {
  public enum Source {
    KEY,
    VALUE,
    MERGE_INFO,
    /** The versions as files have them, for a file to be written. */
    STORED_MERGE_INFO,
    /** A flag: the key was deleted. Nothing but a read of what was written gives such rows. */
    IS_DELETED,
    BUCKET
  }

  /** A column of the sort key, a value column, or the stored bucket. */
  public static OutputColumn of(KeyedSchema schema, NestedField column, DataType type) {
    if (column.name().equals(KeyedSchema.BUCKET)) {
      return new OutputColumn(Source.BUCKET, -1, type, false);
    }
    boolean isKey = schema.sortKey().contains(column);
    boolean hasUuids =
        TypeUtil.find(column.type(), each -> each.typeId() == Type.TypeID.UUID) != null;
    return new OutputColumn(isKey ? Source.KEY : Source.VALUE, column.fieldId(), type, hasUuids);
  }

  /** The name of a stored column in the table. */
  public String name(KeyedSchema schema) {
    return schema.table().asStruct().field(fieldId).name();
  }
}
