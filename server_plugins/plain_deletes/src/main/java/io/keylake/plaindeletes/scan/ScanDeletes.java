package io.keylake.plaindeletes.scan;

import io.keylake.plaindeletes.index.DeleteGroup;
import java.io.Serializable;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Table;

/**
 * The groups of equality deletes of a scan, for all its tasks.
 *
 * @param scan by which no other scan goes
 * @param uses how many tasks need each group
 * @param memoryBytes what all indexes of a process may have
 */
record ScanDeletes(String scan, Table table, List<DeleteGroup> groups, int[] uses, long memoryBytes)
    implements Serializable {

  /** The largest number of deletes that a group can have. */
  long deletes(int group) {
    return groups.get(group).files().stream().mapToLong(DeleteFile::recordCount).sum();
  }

  /** The number of deletes of the group that has the most. */
  long mostDeletes() {
    return IntStream.range(0, groups.size()).mapToLong(this::deletes).max().orElse(0);
  }
}
