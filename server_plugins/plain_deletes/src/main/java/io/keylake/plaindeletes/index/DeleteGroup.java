package io.keylake.plaindeletes.index;

import java.io.Serializable;
import java.util.List;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;

/**
 * Equality delete files with the same fields and the same partition, or without a partition: one
 * index serves all data files that they apply to.
 *
 * @param fields the equality fields as the table that is read has them, by their ids
 * @param files without their statistics
 */
public record DeleteGroup(List<NestedField> fields, List<DeleteFile> files)
    implements Serializable {

  /** A key of this group, to be filled. */
  public DeleteKey newKey() {
    return new DeleteKey(isNumber());
  }

  /** The columns of delete files that are read. */
  public Schema schema() {
    return new Schema(fields);
  }

  /** The size of the files. */
  public long bytes() {
    return files.stream().mapToLong(DeleteFile::fileSizeInBytes).sum();
  }

  boolean isNumber() {
    return fields.size() == 1
        && switch (fields.get(0).type().typeId()) {
          case INTEGER, LONG, DATE, TIME, TIMESTAMP, TIMESTAMP_NANO -> true;
          default -> false;
        };
  }

  /** Values of a type can be in keys. */
  static boolean supports(Type type) {
    return switch (type.typeId()) {
      case BOOLEAN, INTEGER, LONG, FLOAT, DOUBLE, DATE, TIME, TIMESTAMP, TIMESTAMP_NANO, STRING ->
          true;
      case UUID, FIXED, BINARY, DECIMAL -> true;
      default -> false;
    };
  }
}
