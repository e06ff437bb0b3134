package io.keylake.plaindeletes.scan;

import java.util.Map;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * A task of Iceberg's scan.
 *
 * @param number among the tasks of the scan
 * @param files by location, those of its data files that have equality deletes
 */
record IndexedPartition(
    InputPartition stock, int number, Map<String, FileDeletes> files, Broadcast<ScanDeletes> scan)
    implements InputPartition, HasPartitionKey {

  /** The group by which tasks are ordered; -1 for none. */
  int lastGroup() {
    return files.values().stream()
        .flatMap(file -> file.groups().stream())
        .mapToInt(Integer::intValue)
        .max()
        .orElse(-1);
  }

  @Override
  public InternalRow partitionKey() {
    return ((HasPartitionKey) stock).partitionKey();
  }

  @Override
  public String[] preferredLocations() {
    return stock.preferredLocations();
  }
}
