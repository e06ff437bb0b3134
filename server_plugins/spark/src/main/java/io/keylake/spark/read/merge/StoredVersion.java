package io.keylake.spark.read.merge;

import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.jspecify.annotations.Nullable;

/**
 * The row that one file stores of a key.
 *
 * @param order its place among the stored rows of the key: of equal versions the later one counts
 * @param values of the columns in the output of the read, null where the row does not carry them
 * @param written the version of its newest write; null where it is only a tombstone
 * @param deleted the version of its newest tombstone; null for none
 * @param carried the versions of the values that it carries, by the field id of the column
 */
public record StoredVersion(
    String location,
    int order,
    InternalRow values,
    @Nullable Long written,
    @Nullable Long deleted,
    Map<Integer, Long> carried) {

  public boolean carries(int fieldId) {
    return carried.containsKey(fieldId);
  }

  /** The version of a value that the row carries. */
  public long version(int fieldId) {
    return Objects.requireNonNull(carried.get(fieldId), "a column that the row carries");
  }
}
