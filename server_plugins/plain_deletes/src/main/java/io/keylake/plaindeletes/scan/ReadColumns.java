package io.keylake.plaindeletes.scan;

import io.keylake.plaindeletes.index.DeleteGroup;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of rows before deletes are applied.
 *
 * @param shown those that the query asked for
 * @param kept their positions
 * @param file the position of the location of the data file
 * @param keys the positions of equality fields, by their ids
 */
record ReadColumns(StructType shown, int[] kept, int file, Map<Integer, Integer> keys)
    implements Serializable {

  static ReadColumns of(StructType read, Set<String> hidden, List<DeleteGroup> groups) {
    StructField[] fields = read.fields();
    int[] kept =
        IntStream.range(0, fields.length).filter(i -> !hidden.contains(fields[i].name())).toArray();
    StructType shown =
        new StructType(IntStream.of(kept).mapToObj(i -> fields[i]).toArray(StructField[]::new));
    Map<Integer, Integer> keys = new HashMap<>();
    for (DeleteGroup group : groups) {
      for (NestedField field : group.fields()) {
        keys.put(field.fieldId(), read.fieldIndex(field.name()));
      }
    }
    return new ReadColumns(shown, kept, read.fieldIndex(MetadataColumns.FILE_PATH.name()), keys);
  }

  /** The positions of the fields of a group. */
  int[] positions(DeleteGroup group) {
    return group.fields().stream()
        .mapToInt(field -> keys.getOrDefault(field.fieldId(), -1))
        .toArray();
  }
}
